module example.org/twin

go 1.19
