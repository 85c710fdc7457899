package mtloop.client;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Sends a request until a response arrives or `retry.giveUpAfter` ends. */
final class Transport {
    /** The service rejected the request before executing it. */
    private static final Set<Integer> NOT_EXECUTED = Set.of(429, 503);
    /** The service may have executed the request. */
    private static final Set<Integer> MAYBE_EXECUTED = Set.of(408, 500, 502, 504);

    final Retry retry;
    private final String address;
    private final String key;
    private final Duration timeout;
    private final HttpClient http;

    Transport(String address, String key, Duration timeout, Retry retry) {
        this.address = address.replaceAll("/+$", "");
        this.key = key;
        this.timeout = timeout;
        this.retry = retry;
        this.http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(timeout).build();
    }

    Map<String, Object> get(String path) throws IOException, InterruptedException {
        return send(request(path).GET().build(), true);
    }

    /**
     * Sends a body. A request that must not be executed twice is not repeatable: if it may have been executed,
     * ResponseLost is thrown.
     */
    Map<String, Object> post(String path, Map<String, Object> body, boolean repeatable)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = request(path).header("content-type", "application/json");
        return send(request.POST(utf8(Json.write(body))).build(), repeatable);
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(address + path))
                .timeout(timeout)
                .header("x-api-key", key)
                .header("accept", "application/json");
    }

    private Map<String, Object> send(HttpRequest request, boolean repeatable) throws IOException, InterruptedException {
        long start = System.nanoTime();
        for (int attempt = 0; ; attempt++) {
            try {
                return body(http.send(request, BodyHandlers.ofString(StandardCharsets.UTF_8)));
            } catch (Refused | Unreachable error) {
                throw error;
            } catch (RetryableError error) {
                pause(error, error.maybeExecuted, error.retryAfter, attempt, start, repeatable);
            } catch (IOException error) {
                boolean notSent = error instanceof ConnectException || error instanceof HttpConnectTimeoutException;
                pause(error, !notSent, Optional.empty(), attempt, start, repeatable);
            }
        }
    }

    private void pause(
            IOException error,
            boolean maybeExecuted,
            Optional<Duration> retryAfter,
            int attempt,
            long start,
            boolean repeatable)
            throws Unreachable, InterruptedException {
        if (maybeExecuted && !repeatable) {
            throw new Unreachable.ResponseLost(address + ": " + error, error);
        }
        Duration wait = retry.wait(attempt, retryAfter);
        Duration waited = Duration.ofNanos(System.nanoTime() - start);
        if (waited.plus(wait).compareTo(retry.giveUpAfter()) > 0) {
            long seconds = retry.giveUpAfter().toSeconds();
            String message = address + " did not respond in " + seconds + " s (" + error + "); is it running?";
            throw new Unreachable(message, error);
        }
        Thread.sleep(wait.toMillis());
    }

    private static Map<String, Object> body(HttpResponse<String> response) throws IOException {
        int status = response.statusCode();
        if (NOT_EXECUTED.contains(status) || MAYBE_EXECUTED.contains(status)) {
            Optional<String> header = response.headers().firstValue("retry-after");
            Optional<Duration> retryAfter = header.flatMap(Retry::parseRetryAfter);
            throw new RetryableError("status " + status, MAYBE_EXECUTED.contains(status), retryAfter);
        }
        if (status < 200 || status > 299) {
            throw refusal(status, response.body());
        }
        try {
            return ResponseFields.object(Json.read(response.body()));
        } catch (IllegalArgumentException error) {
            throw new Unreachable(response.uri() + " is not an mtloop service", error);
        }
    }

    private static Refused refusal(int status, String body) {
        try {
            Map<String, Object> problem = ResponseFields.object(Json.read(body));
            return new Refused(status, ResponseFields.text(problem, "type"), ResponseFields.text(problem, "detail"));
        } catch (IllegalArgumentException | Unreachable error) {
            return new Refused(status, "", "no reason given");
        }
    }

    /** Encodes a text strictly: BodyPublishers.ofString would replace invalid characters by question marks. */
    private static BodyPublisher utf8(String text) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return BodyPublishers.ofByteArray(bytes.array(), 0, bytes.limit());
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException("the text contains an unpaired surrogate", error);
        }
    }

    /** A failure that a retry may solve. */
    private static final class RetryableError extends IOException {
        private static final long serialVersionUID = 1L;
        final boolean maybeExecuted;
        final transient Optional<Duration> retryAfter;

        RetryableError(String message, boolean maybeExecuted, Optional<Duration> retryAfter) {
            super(message);
            this.maybeExecuted = maybeExecuted;
            this.retryAfter = retryAfter;
        }
    }
}
