/** Where the receiver of benchmarks listens: several hosts, since the endpoints of one share its places. */
export const RECEIVER_HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'] as const
