package mtloop.client;

import java.io.IOException;

/** The service did not respond in time, or the response is not that of an mtloop service. */
public class Unreachable extends IOException {
    private static final long serialVersionUID = 1L;

    Unreachable(String message, Throwable cause) {
        super(message, cause);
    }

    /** The request was sent, but the response was lost. The service may have executed the request or not. */
    static final class ResponseLost extends Unreachable {
        private static final long serialVersionUID = 1L;

        ResponseLost(String message, Throwable cause) {
            super(message, cause);
        }
    }
}
