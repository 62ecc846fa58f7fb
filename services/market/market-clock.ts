/** From `wallTime` on, market time runs `speed` times as fast as wall time. Times are Unix milliseconds. */
export interface ClockAnchor {
  readonly wallTime: number
  readonly marketTime: number
  readonly speed: number
}

/**
 * Market time at an instant of wall time, whole milliseconds. Without an anchor the market runs on the wall
 * clock. Before the anchor, as after a step back of the wall clock, market time waits at the anchor.
 */
export function marketTimeAt(anchor: ClockAnchor | undefined, wallMs: number): number {
  if (anchor === undefined) return wallMs
  return anchor.marketTime + Math.floor(Math.max(0, wallMs - anchor.wallTime) * anchor.speed)
}

/**
 * The anchor to record so that the market runs at `speed` from now on, going on at the very instant the
 * previous anchor leads to, so that market time never jumps. Undefined where nothing changes: the speed is the
 * same, or it is 1 and there was never another.
 */
export function planAnchor(
  previous: ClockAnchor | undefined,
  wallNow: number,
  speed: number,
): ClockAnchor | undefined {
  if (speed === (previous?.speed ?? 1)) return undefined
  return { wallTime: wallNow, marketTime: marketTimeAt(previous, wallNow), speed }
}
