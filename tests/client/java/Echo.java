import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import mtloop.client.Json;

/** Reads one JSON value per line and writes it again, or writes `wrong` if it is invalid. */
public final class Echo {
    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                out.println(Json.write(Json.read(line)));
            } catch (IllegalArgumentException error) {
                out.println("wrong");
            }
        }
    }
}
