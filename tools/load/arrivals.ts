import { createRandom } from '../cluster/random.ts'

/** Poisson arrivals: exponential gaps, by their seed. */
export function arrivalsOf(rate: number, seconds: number, seed: number): number[] {
  const random = createRandom(seed)
  const times: number[] = []
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random.next()) * 1_000) / rate
    if (at >= seconds * 1_000) return times
    times.push(Math.round(at * 1_000) / 1_000)
  }
}
