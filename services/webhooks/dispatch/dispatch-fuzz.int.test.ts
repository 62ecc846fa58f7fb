import { expect, test } from 'vitest'
import { fuzzDeliveries } from './testing/fuzz-deliveries.fixture.ts'

/** `FUZZ_SEEDS=200` tries more of them; `FUZZ_FROM` and `FUZZ_SEEDS=1` repeat a seed that fails. */
const FROM = Number(process.env.FUZZ_FROM ?? 1)
const SEEDS = Number(process.env.FUZZ_SEEDS ?? 40)
const A_SEED_MS = 10_000

test(
  `${SEEDS} lives of endpoints lose nothing, whatever happens to them`,
  async () => {
    const failed: Record<number, readonly string[]> = {}
    for (let seed = FROM; seed < FROM + SEEDS; seed++) {
      const faults = await fuzzDeliveries(seed)
      if (faults.length > 0) failed[seed] = faults
    }
    expect(failed).toEqual({})
  },
  SEEDS * A_SEED_MS,
)
