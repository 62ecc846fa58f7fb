/** Tells the share of the time since the last call in which the event loop of this thread was at work. */
export function createBusyShare(): () => number {
  let [before, now] = [performance.eventLoopUtilization(), performance.eventLoopUtilization()]
  return () => {
    ;[before, now] = [now, performance.eventLoopUtilization()]
    return performance.eventLoopUtilization(now, before).utilization
  }
}
