package mtloop.client;

import java.io.IOException;

/** No answer in the time allowed, or one that no such service gives. */
public class Unreachable extends IOException {
    private static final long serialVersionUID = 1L;

    Unreachable(String message, Throwable cause) {
        super(message, cause);
    }

    /** The request left, its answer did not come: it may have been carried out or not. */
    static final class Lost extends Unreachable {
        private static final long serialVersionUID = 1L;

        Lost(String message, Throwable cause) {
            super(message, cause);
        }
    }
}
