package mtloop.client;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A client of a task service. Every request is retried during restarts and rate limits, as long as the retry settings
 * allow. No request is executed twice.
 */
public final class Client {
    private static final int DOUBTS = 10;

    private final Transport transport;

    /** Creates a client for the service at an address, with the API key of a participant. */
    public Client(String address, String key) {
        this(address, key, Duration.ofSeconds(30), Retry.USUAL);
    }

    /** Creates a client with the time limit of one attempt and the retry settings. */
    public Client(String address, String key, Duration timeout, Retry retry) {
        this.transport = new Transport(address, key, timeout, retry);
    }

    /** Returns the runs of this key in a task, oldest first. */
    public List<Run> runs(String task) throws IOException, InterruptedException {
        List<Run> runs = new ArrayList<>();
        for (Object item : Answer.list(transport.get("/v1/runs?task=" + quoted(task)), "runs")) {
            runs.add(Run.of(Answer.object(item)));
        }
        return runs;
    }

    /** Returns the state of a run. */
    public Run run(String run) throws IOException, InterruptedException {
        return Run.of(transport.get(of(run)));
    }

    /** Starts a new run. If the response is lost, looks for the new run in the list of runs before trying again. */
    public Run start(String task) throws IOException, InterruptedException {
        Set<String> before = runs(task).stream().map(Run::id).collect(Collectors.toSet());
        return once(
                "/v1/tasks/" + quoted(task) + "/runs",
                () -> runs(task).stream().filter(run -> !before.contains(run.id())).findFirst());
    }

    /** Starts the next pass from the first sentence, if the task allows it. */
    public Run nextPass(String run) throws IOException, InterruptedException {
        int before = run(run).pass();
        return once(of(run) + "/passes", () -> Optional.of(run(run)).filter(now -> now.pass() > before));
    }

    /** Returns the current sentence, the same one until it is translated; empty at the end of the stream. */
    public Optional<Sentence> next(String run) throws IOException, InterruptedException {
        try {
            return Optional.of(Sentence.of(transport.get(of(run) + "/next")));
        } catch (Refused refused) {
            if (refused.kind.equals("end-of-stream")) {
                return Optional.empty();
            }
            throw refused;
        }
    }

    /** Submits a translation and returns its reward. Submitting the same text again returns the same reward. */
    public Judged submit(String run, String sentence, String translation) throws IOException, InterruptedException {
        Map<String, Object> body = Map.of("id", sentence, "translation", translation);
        return Judged.of(transport.post(of(run) + "/translations", body, true));
    }

    /** Translates the rest of the current pass and returns the final state of the run. */
    public Run translate(String run, Translator translator) throws IOException, InterruptedException {
        Optional<Sentence> pending = next(run);
        while (pending.isPresent()) {
            Sentence sentence = pending.get();
            String translation = translator.translate(sentence.source());
            Judged judged = submit(run, sentence.id(), translation);
            translator.learn(sentence.source(), translation, judged.reward());
            pending = judged.next();
        }
        return run(run);
    }

    /** Creates a run or a pass exactly once. After a lost response, looks for it before trying again. */
    private Run once(String path, Find find) throws IOException, InterruptedException {
        for (int attempt = 1; ; attempt++) {
            try {
                return Run.of(transport.post(path, Map.of(), false));
            } catch (Unreachable.Lost lost) {
                Thread.sleep(transport.retry.wait(attempt, Optional.empty()).toMillis());
                Optional<Run> made = find.find();
                if (made.isPresent()) {
                    return made.get();
                }
                if (attempt == DOUBTS) {
                    throw lost;
                }
            }
        }
    }

    private static String of(String run) {
        return "/v1/runs/" + quoted(run);
    }

    private static String quoted(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private interface Find {
        Optional<Run> find() throws IOException, InterruptedException;
    }
}
