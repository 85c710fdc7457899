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
    private static final int MAX_CREATE_ATTEMPTS = 10; // for a request that must not be executed twice

    private final Transport transport;

    /** Creates a client for the service at an address, with the API key of a participant. */
    public Client(String address, String key) {
        this(address, key, Duration.ofSeconds(30), Retry.DEFAULT);
    }

    /** Creates a client with the time limit of one attempt and the retry settings. */
    public Client(String address, String key, Duration timeout, Retry retry) {
        this.transport = new Transport(address, key, timeout, retry);
    }

    /** Returns the runs of this key in a task, oldest first. */
    public List<RunState> runs(String task) throws IOException, InterruptedException {
        List<RunState> runs = new ArrayList<>();
        for (Object item : ResponseFields.list(transport.get("/v1/runs?task=" + quote(task)), "runs")) {
            runs.add(RunState.parse(ResponseFields.object(item)));
        }
        return runs;
    }

    /** Returns the state of a run. */
    public RunState run(String run) throws IOException, InterruptedException {
        return RunState.parse(transport.get(runPath(run)));
    }

    /** Starts a new run. If the response is lost, looks for the new run in the list of runs before trying again. */
    public RunState start(String task) throws IOException, InterruptedException {
        Set<String> before = runs(task).stream().map(RunState::run).collect(Collectors.toSet());
        return createOnce(
                "/v1/tasks/" + quote(task) + "/runs",
                () -> runs(task).stream().filter(state -> !before.contains(state.run())).findFirst());
    }

    /** Starts the next pass from the first sentence, if the task allows it. */
    public RunState nextPass(String run) throws IOException, InterruptedException {
        int before = run(run).passNumber();
        return createOnce(
                runPath(run) + "/passes",
                () -> Optional.of(run(run)).filter(state -> state.passNumber() > before));
    }

    /** Returns the current sentence, the same one until it is translated; empty at the end of the stream. */
    public Optional<SourceSentence> next(String run) throws IOException, InterruptedException {
        try {
            return Optional.of(SourceSentence.parse(transport.get(runPath(run) + "/next")));
        } catch (Refused refused) {
            if (refused.kind.equals("end-of-stream")) {
                return Optional.empty();
            }
            throw refused;
        }
    }

    /** Submits a translation and returns its reward. Submitting the same text again returns the same reward. */
    public SubmissionResult submit(String run, String sentence, String translation)
            throws IOException, InterruptedException {
        Map<String, Object> body = Map.of("id", sentence, "translation", translation);
        return SubmissionResult.parse(transport.post(runPath(run) + "/translations", body, true));
    }

    /** Translates the rest of the current pass and returns the final state of the run. */
    public RunState translate(String run, Translator translator) throws IOException, InterruptedException {
        Optional<SourceSentence> pending = next(run);
        while (pending.isPresent()) {
            SourceSentence sentence = pending.get();
            String translation = translator.translate(sentence.source());
            SubmissionResult result = submit(run, sentence.id(), translation);
            translator.learn(sentence.source(), translation, result.reward());
            pending = result.next();
        }
        return run(run);
    }

    /** Creates a run or a pass exactly once. After a lost response, looks for it before trying again. */
    private RunState createOnce(String path, Find find) throws IOException, InterruptedException {
        for (int attempt = 1; ; attempt++) {
            try {
                return RunState.parse(transport.post(path, Map.of(), false));
            } catch (Unreachable.ResponseLost lost) {
                Thread.sleep(transport.retry.wait(attempt, Optional.empty()).toMillis());
                Optional<RunState> created = find.find();
                if (created.isPresent()) {
                    return created.get();
                }
                if (attempt == MAX_CREATE_ATTEMPTS) {
                    throw lost;
                }
            }
        }
    }

    private static String runPath(String run) {
        return "/v1/runs/" + quote(run);
    }

    private static String quote(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private interface Find {
        Optional<RunState> find() throws IOException, InterruptedException;
    }
}
