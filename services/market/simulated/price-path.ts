import { createRandom, hashText, type Random, seedAt } from './random.ts'
import type { SimulatedCoin } from './simulated-coins.ts'

/** State of the market of a coin for some hours or days. */
export type SimulatedRegime = 'rising' | 'falling' | 'ranging' | 'volatile'

/** A coin's price at every full hour, and how it moves in between. Hours count from the Unix epoch. */
export type PricePath = ReturnType<typeof createPricePath>

interface RegimeShape {
  readonly share: number
  readonly meanHours: number
  /** In units of the coin's volatility. */
  readonly volatility: number
  /** Return of an hour, in volatilities of the coin. */
  readonly drift: number
}

/**
 * A market to try the service on: prices walk at random, and their volatility changes as it does on real days. How
 * often prices end within the expected ranges here is stated in docs/model.md (`npm run evaluate`).
 */
const REGIMES: Readonly<Record<SimulatedRegime, RegimeShape>> = {
  ranging: { share: 0.42, meanHours: 60, volatility: 0.82, drift: 0 },
  rising: { share: 0.22, meanHours: 60, volatility: 0.84, drift: 0.03 },
  falling: { share: 0.2, meanHours: 60, volatility: 0.86, drift: -0.03 },
  volatile: { share: 0.16, meanHours: 40, volatility: 0.9, drift: 0 },
}
/** One hour in sixteen moves so much more: the tails of returns are heavier than a normal distribution's. */
const SHOCK = 1.6
/** Volatility of Saturdays and Sundays, over that of other days. */
const WEEKEND = 0.78
/** How far the ends of blocks are apart, over the coin's volatility: below a free walk's way, prices come back. */
const BLOCK_REACH = 0.88

const SHORTEST_REGIME_HOURS = 6

const SHOCK_SHARE = 1 / 16

// A block is drawn as a whole, between two fixed ends; an era is drawn the same way, of blocks. So any hour costs
// one block, whenever it is, and no step accumulates over the years.
const BLOCK_HOURS = 512
const ERA_BLOCKS = 64

/** Standard deviation of the logarithm of the price between eras, about its coin's price. */
const ERA_DEVIATION = 0.35
const ERA_SALT = 0x5eed_0001
const BLOCK_SALT = 0x5eed_0002
const HOUR_SALT = 0x5eed_0003

interface Block {
  readonly index: number
  /** Logarithm of the price over the coin's price, at the beginning of each hour and at the end. */
  readonly levels: Float64Array
  readonly volatilities: Float64Array
  readonly regimes: readonly SimulatedRegime[]
}

/** Blocks kept: funding looks a day back, which may be in the block before. */
const BLOCKS_KEPT = 2

/** The prefix keeps every market as it was drawn before. */
export const seedOfCoin = (seed: string, coin: string): number => hashText(`2:${seed}/${coin}`)

/**
 * The hourly price of a simulated coin: a walk through regimes of drift and volatility, tied at fixed instants
 * to levels that stay about the coin's price for ever. A pure function of seed, coin and hour; the blocks it
 * keeps only save time.
 */
export function createPricePath(seed: string, coin: SimulatedCoin) {
  const coinSeed = seedOfCoin(seed, coin.coin)
  const ticks = coin.price * 10 ** coin.decimals
  let kept: readonly Block[] = []

  function blockOf(hour: number): Block {
    const index = Math.floor(hour / BLOCK_HOURS)
    const known = kept.find((block) => block.index === index)
    if (known !== undefined) return known
    const block = drawBlock(coinSeed, coin.hourlyVolatility, index)
    kept = [block, ...kept].slice(0, BLOCKS_KEPT)
    return block
  }

  return {
    /** Price at the beginning of an hour, in ticks, not rounded. */
    priceAt: (hour: number): number => ticks * Math.exp(blockOf(hour).levels[within(hour)] as number),
    /** Standard deviation of the return within an hour. */
    volatilityAt: (hour: number): number => blockOf(hour).volatilities[within(hour)] as number,
    regimeAt: (hour: number): SimulatedRegime => blockOf(hour).regimes[within(hour)] as SimulatedRegime,
  }
}

/** Place of an hour in its block. */
const within = (hour: number): number => hour - Math.floor(hour / BLOCK_HOURS) * BLOCK_HOURS

function drawBlock(coinSeed: number, volatility: number, index: number): Block {
  const random = createRandom(seedAt(coinSeed ^ HOUR_SALT, index))
  const steps = new Float64Array(BLOCK_HOURS)
  const volatilities = new Float64Array(BLOCK_HOURS)
  const regimes: SimulatedRegime[] = []
  let regime: SimulatedRegime = 'ranging'
  let hoursLeft = 0
  for (let hour = 0; hour < BLOCK_HOURS; hour++) {
    if (hoursLeft-- === 0) {
      regime = drawRegime(random)
      hoursLeft = drawHours(random, REGIMES[regime].meanHours)
    }
    const shape = REGIMES[regime]
    const hourNow = index * BLOCK_HOURS + hour
    const lively = activityAt(hourNow) * (isWeekend(hourNow) ? WEEKEND : 1)
    const deviation = volatility * shape.volatility * lively
    const shock = random.uniform() < SHOCK_SHARE ? SHOCK : 1
    steps[hour] = volatility * shape.drift + deviation * shock * random.normal()
    volatilities[hour] = deviation * shock
    regimes.push(regime)
  }
  const reach = volatility * Math.sqrt(BLOCK_HOURS) * BLOCK_REACH
  const levels = bridge(
    steps,
    volatilities,
    blockEnd(coinSeed, reach, index),
    blockEnd(coinSeed, reach, index + 1),
  )
  return { index, levels, volatilities, regimes }
}

function drawRegime(random: Random): SimulatedRegime {
  let left = random.uniform()
  for (const name of Object.keys(REGIMES) as SimulatedRegime[]) {
    left -= REGIMES[name].share
    if (left < 0) return name
  }
  return 'ranging'
}

const drawHours = (random: Random, meanHours: number): number =>
  SHORTEST_REGIME_HOURS + Math.floor(-Math.log(1 - random.uniform()) * (meanHours - SHORTEST_REGIME_HOURS))

/** Markets are busiest in the afternoon, UTC; averages 1 over the day. */
export const activityAt = (hour: number): number => 1 + 0.25 * Math.cos((2 * Math.PI * (hour - 15)) / 24)

/** The Unix epoch was a Thursday. */
export function isWeekend(hour: number): boolean {
  const dayFromThursday = Math.floor(hour / 24) % 7
  return dayFromThursday === 2 || dayFromThursday === 3
}

/** Level at the beginning of a block. @param reach standard deviation of the way over a block */
function blockEnd(coinSeed: number, reach: number, index: number): number {
  const era = Math.floor(index / ERA_BLOCKS)
  const random = createRandom(seedAt(coinSeed ^ BLOCK_SALT, era))
  const steps = Float64Array.from({ length: ERA_BLOCKS }, () => reach * random.normal())
  const even = new Float64Array(ERA_BLOCKS).fill(1)
  return bridge(steps, even, eraEnd(coinSeed, era), eraEnd(coinSeed, era + 1))[
    index - era * ERA_BLOCKS
  ] as number
}

const eraEnd = (coinSeed: number, era: number): number =>
  ERA_DEVIATION * createRandom(seedAt(coinSeed ^ ERA_SALT, era)).normal()

/**
 * Adds up steps from one level so that they end at another: what is left over is spread in proportion to the
 * variance of each step, where it shows least. Answers one level more than there are steps.
 */
function bridge(steps: Float64Array, deviations: Float64Array, from: number, to: number): Float64Array {
  let sum = 0
  let variance = 0
  for (let index = 0; index < steps.length; index++) {
    sum += steps[index] as number
    variance += (deviations[index] as number) ** 2
  }
  const correction = (to - from - sum) / variance
  const levels = new Float64Array(steps.length + 1)
  levels[0] = from
  for (let index = 0; index < steps.length; index++) {
    const step = (steps[index] as number) + correction * (deviations[index] as number) ** 2
    levels[index + 1] = (levels[index] as number) + step
  }
  levels[steps.length] = to
  return levels
}
