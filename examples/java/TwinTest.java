// Tests with a twin in Java 17, without any library: java TwinTest.java
//
// It needs the program `leverframe` on the path. In a project, `Twin` goes into a JUnit extension.

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class TwinTest {

  /** A controller in virtual time, with a data folder of its own. */
  static class Twin implements AutoCloseable {
    private static final Pattern URL = Pattern.compile("\"url\":\"(http[^\"]*)/\"");
    private final HttpClient client = HttpClient.newHttpClient();
    private final Process process;
    final String url;

    Twin(String... options) throws IOException {
      Path folder = Files.createTempDirectory("twin-");
      List<String> command = new ArrayList<>(List.of("leverframe", "run", "--json"));
      command.addAll(List.of("--port", "0", "--virtual-time", "--data", folder.toString()));
      command.addAll(List.of(options));
      process =
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      // The program prints its address and all ports when it is ready.
      BufferedReader output = process.inputReader();
      String found = null;
      for (String line = output.readLine(); line != null && found == null; ) {
        Matcher ready = URL.matcher(line);
        if (ready.find()) found = ready.group(1);
        else line = output.readLine();
      }
      if (found == null) throw new IOException("The twin failed to start.");
      url = found;
    }

    String get(String target, Duration patience) throws IOException, InterruptedException {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(url + target)).timeout(patience).build();
      var answer = client.send(request, BodyHandlers.ofString());
      if (answer.statusCode() != 200)
        throw new IOException(answer.statusCode() + ": " + answer.body());
      return answer.body();
    }

    String get(String target) throws IOException, InterruptedException {
      return get(target, Duration.ofSeconds(30));
    }

    @Override
    public void close() throws InterruptedException {
      process.destroy();
      process.waitFor();
    }
  }

  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
    System.out.println("ok: " + what);
  }

  public static void main(String[] arguments) throws Exception {
    try (Twin twin = new Twin()) {
      twin.get("/outs.cgi?ortime=0600");
      twin.get("/outs.cgi?out0=1");
      twin.get("/sim.cgi?advance=599");
      check(twin.get("/api/state").contains("\"OUT0\":1"), "the pump runs for ten minutes");
      twin.get("/sim.cgi?advance=1");
      check(twin.get("/api/state").contains("\"OUT0\":0"), "and switches off afterwards");

      twin.get("/sim.cgi?fault=slow*delay:2s*path:/json/all.json*times:1");
      try {
        twin.get("/json/all.json", Duration.ofMillis(200));
        check(false, "a slow unit is given up");
      } catch (HttpTimeoutException expected) {
        check(true, "a slow unit is given up");
      }
      check(twin.get("/json/all.json").contains("\"hw\":\"3.9\""), "and answers afterwards");
    }
    try (Twin old = new Twin("--hw", "3.0", "--sw", "1.58a")) {
      try {
        old.get("/stm.cgi?modbuson=1");
        check(false, "an older unit refuses newer commands");
      } catch (IOException refusal) {
        check(refusal.getMessage().startsWith("404"), "an older unit refuses newer commands");
      }
    }
  }
}
