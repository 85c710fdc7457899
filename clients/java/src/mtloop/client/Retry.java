package mtloop.client;

import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * When to retry a request: exponential backoff with full jitter. A request is retried for at most `giveUpAfter`. The
 * maximum wait doubles from `firstWait` to `maxWait`. Each wait is drawn uniformly between 0 and that maximum, so that
 * participants do not all come back at once after a restart of the service.
 */
public record Retry(Duration giveUpAfter, Duration firstWait, Duration maxWait) {
    /** The default: retry for two minutes, with maximum waits from 0.2 to 20 seconds. */
    public static final Retry DEFAULT =
            new Retry(Duration.ofMinutes(2), Duration.ofMillis(200), Duration.ofSeconds(20));

    /** Returns the wait after failure number `attempt` (from 0). */
    Duration wait(int attempt, Optional<Duration> retryAfter) {
        if (retryAfter.isPresent()) {
            return retryAfter.get().plus(randomUpTo(firstWait));
        }
        Duration doubled = firstWait.multipliedBy(1L << Math.min(attempt, 20));
        return randomUpTo(doubled.compareTo(maxWait) < 0 ? doubled : maxWait);
    }

    private static Duration randomUpTo(Duration limit) {
        return Duration.ofMillis(ThreadLocalRandom.current().nextLong(limit.toMillis() + 1));
    }

    /** Parses a Retry-After header, which is a number of seconds or a date; empty if it is invalid. */
    static Optional<Duration> parseRetryAfter(String header) {
        if (header.matches("[0-9]{1,9}")) {
            return Optional.of(Duration.ofSeconds(Long.parseLong(header)));
        }
        try {
            ZonedDateTime date = ZonedDateTime.parse(header, DateTimeFormatter.RFC_1123_DATE_TIME);
            Duration left = Duration.between(ZonedDateTime.now(date.getZone()), date);
            return Optional.of(left.isNegative() ? Duration.ZERO : left);
        } catch (DateTimeParseException error) {
            return Optional.empty();
        }
    }
}
