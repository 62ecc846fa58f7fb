import { type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/domain/verdict.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'

/** Returns in different blocks of time count as independent; a block is this many windows long. */
export const WINDOWS_PER_BLOCK = 50

/** Returns that fell into one block of time. */
export interface Block extends JsonObject {
  readonly n: number
  readonly sum: number
}

/**
 * The sums from which the spread of block sums is computed for any mean: over all blocks, their number and the sums of
 * n², n·S and S².
 */
export interface BlockSums extends JsonObject {
  readonly blocks: number
  readonly nn: number
  readonly ns: number
  readonly ss: number
}

export const NO_BLOCK: Block = { n: 0, sum: 0 }
export const NO_BLOCKS: BlockSums = { blocks: 0, nn: 0, ns: 0, ss: 0 }

/** The number of the block that a bar closes in. */
export const blockOf = (timeframe: Timeframe, barClose: number): number =>
  Math.floor(barClose / (WINDOWS_PER_BLOCK * WINDOW_BARS[timeframe] * timeframeMs(timeframe)))

export const addToBlock = (block: Block, value: number): Block => ({ n: block.n + 1, sum: block.sum + value })

/** The sums after one of the blocks became another. */
export const replaceBlock = (sums: BlockSums, before: Block, after: Block): BlockSums => ({
  blocks: sums.blocks + (before.n === 0 ? 1 : 0),
  nn: sums.nn + after.n ** 2 - before.n ** 2,
  ns: sums.ns + after.n * after.sum - before.n * before.sum,
  ss: sums.ss + after.sum ** 2 - before.sum ** 2,
})
