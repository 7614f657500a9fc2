# Completion of leverframe for bash, written by the program itself.
_leverframe() {
    local word=${COMP_WORDS[COMP_CWORD]} words
    local first=${COMP_WORDS[1]:-} second=${COMP_WORDS[2]:-}
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="run fleet simulate what-if record replay unit rule commands passwd config board site firmware backup data completion help -V --version -h --help"
    else
        case "$first" in
            fleet) words="run migrate nodes drain forget move simulate add list show remove rename place start tag send rollout drift changes advance snapshot snapshots remove-snapshot restore fork fault export tenant account protect map adopt release" ;;
            unit) words="find pull diff check schema plan show apply rollback watch take-over give-back" ;;
            config) words="check example" ;;
            board) words="check" ;;
            site) words="build reset" ;;
            firmware) words="keygen build sign show" ;;
            backup) words="create show diff convert restore" ;;
            data) words="check repair show export reset" ;;
            help) words="run fleet simulate what-if record replay unit rule commands passwd config board site firmware backup data completion" ;;
        esac
        case "$first $second" in
            "run "*) words="--verbose --config --host --port --hosts --proxies --redirect-port --modbus-port --snmp-port --tftp-port --discovery --no-discovery --mdns --no-mdns --hw --sw --name --mac --data --history-days --history-max-mb --recorded --timezone --virtual-time --no-virtual-time --virtual-start --board-kind --board-sysfs --board-onewire-extra --board-i2c-bus --board-oled-bus --board-oled-address --serial-port --serial-modbus --tls --no-tls --tls-certificate --tls-key --cors-origins --trusted --trusted-role --modbus-writers --allow-local-targets --no-allow-local-targets --ca-file --mqtt-certificate --mqtt-key --firmware-key --firmware-check-url --udp-bootloader --no-udp-bootloader --lenient --no-lenient --capture --no-capture --log-level --log-format --syslog --json --no-json -h --help" ;;
            "fleet run") words="--database --node --inner --capacity --config --host --port --hosts --tls --no-tls --tls-certificate --tls-key --data --timezone --virtual-time --no-virtual-time --virtual-start --lenient --no-lenient --capture --no-capture --modbus-port --snmp-port --discovery --no-discovery --mdns --no-mdns --allow-local-targets --no-allow-local-targets --json --no-json --log-level --log-format -h --help" ;;
            "fleet migrate") words="--database -h --help" ;;
            "fleet nodes") words="--node --user --ca-file --json -h --help" ;;
            "fleet drain") words="--node --user --ca-file --undo -h --help" ;;
            "fleet forget") words="--node --user --ca-file -h --help" ;;
            "fleet move") words="--node --user --ca-file -h --help" ;;
            "fleet simulate") words="--for --json --config -h --help" ;;
            "fleet add") words="--name --count --first --template --hw --sw --tag --address --port --tenant --open --dry-run --node --user --ca-file --json -h --help" ;;
            "fleet list") words="--tag --node --user --ca-file --json -h --help" ;;
            "fleet show") words="--node --user --ca-file --json -h --help" ;;
            "fleet remove") words="--tag --node --user --ca-file --json -h --help" ;;
            "fleet rename") words="--node --user --ca-file --json -h --help" ;;
            "fleet place") words="--address --port --node --user --ca-file --json -h --help" ;;
            "fleet start") words="--node --user --ca-file --json -h --help" ;;
            "fleet tag") words="--tag --add --remove --node --user --ca-file --json -h --help" ;;
            "fleet send") words="--tag --dry-run --all-or-none --node --user --ca-file --json -h --help" ;;
            "fleet rollout") words="--command --template --name --tag --groups --success --errors --pause --no-health-check --no-snapshot --dry-run --node --user --ca-file --json -h --help" ;;
            "fleet drift") words="--template --tag --node --user --ca-file --json -h --help" ;;
            "fleet changes") words="--tag --by --since --count --node --user --ca-file --json -h --help" ;;
            "fleet advance") words="--to --step --rate --freeze --tag --node --user --ca-file --json -h --help" ;;
            "fleet snapshot") words="--tag --node --user --ca-file --json -h --help" ;;
            "fleet snapshots") words="--node --user --ca-file --json -h --help" ;;
            "fleet remove-snapshot") words="--node --user --ca-file --json -h --help" ;;
            "fleet restore") words="--tag --node --user --ca-file --json -h --help" ;;
            "fleet fork") words="--count --first --tag --address --port --node --user --ca-file --json -h --help" ;;
            "fleet fault") words="--tag --seed --node --user --ca-file --json -h --help" ;;
            "fleet export") words="--tag --node --user --ca-file --json -h --help" ;;
            "fleet tenant") words="--tag --max --open --node --user --ca-file --json -h --help" ;;
            "fleet account") words="--tenant --role --open --node --user --ca-file --json -h --help" ;;
            "fleet protect") words="--tag --node --user --ca-file --json -h --help" ;;
            "fleet map") words="--domain --haproxy --file --every --node --user --ca-file -h --help" ;;
            "fleet adopt") words="--name --tag --config --data -h --help" ;;
            "fleet release") words="--to --config --data -h --help" ;;
            "simulate "*) words="--for --csv --step --json -h --help" ;;
            "what-if "*) words="--commands --for --plants --json --config --data --timezone -h --help" ;;
            "record "*) words="--out --port --ca-file --json -h --help" ;;
            "replay "*) words="--against --exclude --strict --tolerance --pace --user --ca-file --json -h --help" ;;
            "unit find") words="--inventory --user --listen --quick --out --ca-file --json -h --help" ;;
            "unit pull") words="--group --out --user --ca-file --json -v --verbose -h --help" ;;
            "unit diff") words="--group --files --only --user --ca-file --json -v --verbose -h --help" ;;
            "unit check") words=" -h --help" ;;
            "unit schema") words="--hw --sw -h --help" ;;
            "unit plan") words="--inventory --group --user --ca-file --only -v --verbose --curl --json --out --plants --readings --for -h --help" ;;
            "unit show") words="--user --curl --json -h --help" ;;
            "unit apply") words="--inventory --group --user --ca-file --yes --canary --canary-group --batch --journal --resume --only -v --verbose --json -h --help" ;;
            "unit rollback") words="--inventory --user --ca-file --yes -h --help" ;;
            "unit watch") words="--port --once --ca-file --json -h --help" ;;
            "unit take-over") words="--data --config-out --host --port --file --user --ca-file -h --help" ;;
            "unit give-back") words="--data --to --out --user --ca-file -h --help" ;;
            "rule "*) words="--to --user --ca-file --json -h --help" ;;
            "commands "*) words="--hw --sw --json -h --help" ;;
            "passwd "*) words="--generate --controller --database --node --config --data -h --help" ;;
            "config check") words="--config --host --port --hosts --proxies --redirect-port --modbus-port --snmp-port --tftp-port --discovery --no-discovery --mdns --no-mdns --hw --sw --name --mac --data --history-days --history-max-mb --recorded --timezone --virtual-time --no-virtual-time --virtual-start --board-kind --board-sysfs --board-onewire-extra --board-i2c-bus --board-oled-bus --board-oled-address --serial-port --serial-modbus --tls --no-tls --tls-certificate --tls-key --cors-origins --trusted --trusted-role --modbus-writers --allow-local-targets --no-allow-local-targets --ca-file --mqtt-certificate --mqtt-key --firmware-key --firmware-check-url --udp-bootloader --no-udp-bootloader --lenient --no-lenient --capture --no-capture --log-level --log-format --syslog --json --no-json -h --help" ;;
            "config example") words=" -h --help" ;;
            "board check") words="--account --json --config -h --help" ;;
            "site build") words="--output -h --help" ;;
            "site reset") words="--config --data -h --help" ;;
            "firmware keygen") words=" -h --help" ;;
            "firmware build") words="--hw --sw --site -h --help" ;;
            "firmware sign") words="--key -h --help" ;;
            "firmware show") words="--key -h --help" ;;
            "backup create") words="--passphrase --passphrase-file --without-secrets --json --config --data -h --help" ;;
            "backup show") words="--json -h --help" ;;
            "backup diff") words="--json -h --help" ;;
            "backup convert") words="--hw --sw --passphrase --passphrase-file --without-secrets --json -h --help" ;;
            "backup restore") words="--passphrase --passphrase-file --without-secrets --json --config --data -h --help" ;;
            "data check") words="--config --data -h --help" ;;
            "data repair") words="--config --data -h --help" ;;
            "data show") words="--config --data -h --help" ;;
            "data export") words="--labels --from --to -o --output --config --data -h --help" ;;
            "data reset") words="--accounts --config --data -h --help" ;;
            "completion "*) words=" -h --help" ;;
        esac
    fi
    # As bash and zsh both understand it; no word of ours has a space in it.
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
}
complete -o default -F _leverframe leverframe
