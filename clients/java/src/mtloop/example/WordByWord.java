package mtloop.example;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import mtloop.client.Client;
import mtloop.client.RunState;
import mtloop.client.Translator;

/**
 * A participant that translates word by word with a dictionary. Unknown words are copied.
 *
 * <p>Usage: java -cp classes mtloop.example.WordByWord URL TASK KEYFILE [DICTIONARY]. Each line of the dictionary has a
 * word, a tab and its translation. When started again, the program resumes its newest run if that run is still open.
 */
public final class WordByWord implements Translator {
    private final Map<String, String> words = new HashMap<>();
    private int count;
    private double earned;

    /** Runs the participant. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        if (arguments.length < 3 || arguments.length > 4) {
            System.err.println("usage: java -cp classes mtloop.example.WordByWord URL TASK KEYFILE [DICTIONARY]");
            System.exit(2);
        }
        Client client = new Client(arguments[0], Files.readString(Path.of(arguments[2])).strip());
        WordByWord participant = new WordByWord(arguments.length == 4 ? Path.of(arguments[3]) : null);
        RunState state = client.translate(openRun(client, arguments[1]).run(), participant);
        System.out.printf(Locale.ROOT, "%s %d %.12f%n", state.run(), state.position(), state.cumulativeReward());
    }

    private WordByWord(Path dictionary) throws IOException {
        for (String line : dictionary == null ? List.<String>of() : Files.readAllLines(dictionary)) {
            String[] pair = line.split("\t", 2);
            if (pair.length == 2) {
                words.put(pair[0], pair[1]);
            }
        }
    }

    private static RunState openRun(Client client, String task) throws IOException, InterruptedException {
        List<RunState> mine = client.runs(task);
        RunState newest = mine.isEmpty() ? null : mine.get(mine.size() - 1);
        return newest != null && newest.state().equals("open") ? newest : client.start(task);
    }

    @Override
    public String translate(String source) {
        return Arrays.stream(source.split(" "))
                .map(word -> words.getOrDefault(word, word))
                .collect(Collectors.joining(" "));
    }

    @Override
    public void learn(String source, String translation, double reward) {
        count++;
        earned += reward;
        System.err.printf(Locale.ROOT, "%d sentences, mean reward %.4f%n", count, earned / count);
    }
}
