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

/** Sends a request until a response arrives or the patience of the retry settings ends. */
final class Transport {
    private static final Set<Integer> TURNED_AWAY = Set.of(429, 503);
    private static final Set<Integer> IN_DOUBT = Set.of(408, 500, 502, 504);

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

    /** A request that must not be executed twice is not repeatable: if it may have been executed, Lost is thrown. */
    Map<String, Object> post(String path, Map<String, Object> body, boolean repeatable)
            throws IOException, InterruptedException {
        HttpRequest request = request(path).header("content-type", "application/json").POST(utf8(Json.write(body))).build();
        return send(request, repeatable);
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
                return answer(http.send(request, BodyHandlers.ofString(StandardCharsets.UTF_8)));
            } catch (Refused | Unreachable last) {
                throw last;
            } catch (Again again) {
                pause(again, again.inDoubt, again.asked, attempt, start, repeatable);
            } catch (IOException error) {
                boolean sent = !(error instanceof ConnectException || error instanceof HttpConnectTimeoutException);
                pause(error, sent, Optional.empty(), attempt, start, repeatable);
            }
        }
    }

    private void pause(
            IOException why, boolean inDoubt, Optional<Duration> asked, int attempt, long start, boolean repeatable)
            throws Unreachable, InterruptedException {
        if (inDoubt && !repeatable) {
            throw new Unreachable.Lost(address + ": " + why, why);
        }
        Duration wait = retry.wait(attempt, asked);
        Duration waited = Duration.ofNanos(System.nanoTime() - start);
        if (waited.plus(wait).compareTo(retry.patience()) > 0) {
            throw new Unreachable(address + " gave no answer in time (" + why + ")", why);
        }
        Thread.sleep(wait.toMillis());
    }

    private static Map<String, Object> answer(HttpResponse<String> response) throws IOException {
        int status = response.statusCode();
        if (TURNED_AWAY.contains(status) || IN_DOUBT.contains(status)) {
            Optional<Duration> asked = response.headers().firstValue("retry-after").flatMap(Retry::asked);
            throw new Again("status " + status, IN_DOUBT.contains(status), asked);
        }
        if (status < 200 || status > 299) {
            throw refusal(status, response.body());
        }
        try {
            return Answer.object(Json.read(response.body()));
        } catch (IllegalArgumentException error) {
            throw new Unreachable(response.uri() + " is no mtloop service", error);
        }
    }

    private static Refused refusal(int status, String body) {
        try {
            Map<String, Object> problem = Answer.object(Json.read(body));
            return new Refused(status, Answer.text(problem, "type"), Answer.text(problem, "detail"));
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
            throw new IllegalArgumentException("the text holds half a surrogate pair", error);
        }
    }

    /** A failure that a retry may solve. */
    private static final class Again extends IOException {
        private static final long serialVersionUID = 1L;
        final boolean inDoubt;
        final transient Optional<Duration> asked;

        Again(String message, boolean inDoubt, Optional<Duration> asked) {
            super(message);
            this.inDoubt = inDoubt;
            this.asked = asked;
        }
    }
}
