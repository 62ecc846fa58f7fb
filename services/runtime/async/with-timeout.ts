/**
 * The outcome of a promise, or the given error once the time is over. The promise itself goes on; an outcome
 * that comes later is of no use to anybody.
 */
export async function withTimeout<Value>(
  work: Promise<Value>,
  timeoutMs: number,
  timeoutError: () => Error,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    // Timers run before sockets are read: an outcome that lies there because this process was busy is still in time.
    timer = setTimeout(() => setImmediate(() => reject(timeoutError())), timeoutMs)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
