package shop;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A server in a process of its own, in memory, on a free port. It ends with this one, however that ends. */
public final class Cantle implements AutoCloseable {
    public final String uri;
    private final Process process;

    public Cantle(String... settings) throws IOException {
        var command = new ArrayList<>(List.of(System.getenv().getOrDefault("CANTLE_BINARY", "cantle"), "serve", "--memory",
            "--listen", "127.0.0.1:0", "--replica-set", "rs0", "--until-stdin-ends"));
        command.addAll(List.of(settings));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader out = process.inputReader();
        String line = out.readLine();
        while (line != null && !line.startsWith("cantle ready ")) line = out.readLine();
        if (line == null) throw new IOException("cantle did not start: its output is above");
        uri = line.split(" ")[2];
    }

    @Override
    public void close() throws IOException {
        process.getOutputStream().close();
        process.onExit().join();
    }
}
