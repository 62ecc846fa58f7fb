import { hash } from 'node:crypto'
import { assert } from '../../../contracts/assert.ts'

export type ChatChannels = ReturnType<typeof createChatChannels>

interface Channel {
  isBusy: boolean
  restsUntilMs: number
  /** By subscription: until when its turn is kept for it. */
  readonly waiting: Map<string, number>
}

/** Wait of a subscription whose channel is busy, and again for each one that waits before it. */
const TURN_MS = 1_000
/** A turn that is not taken for so long is the next one's. */
const KEPT_MS = 10_000
/** Number of channels at which idle ones are forgotten. */
const TIDY_AT = 1_024

/**
 * Decides who sends next to a chat channel. A channel has one limit, however many subscriptions send to it: one message
 * is under way at a time, and all subscriptions wait for as long as the channel asked.
 *
 * @param elapsed monotonic clock, milliseconds
 */
export function createChatChannels(elapsed: () => number) {
  // The address of a channel is its key: it is not kept in clear where it need not be.
  const keyOf = (url: string): string => hash('sha256', url)
  const channels = new Map<string, Channel>()

  function tidy(nowMs: number): void {
    for (const [key, { isBusy, restsUntilMs, waiting }] of channels)
      if (!isBusy && restsUntilMs <= nowMs && waiting.size === 0) channels.delete(key)
  }

  function channelOf(url: string): Channel {
    const key = keyOf(url)
    const known = channels.get(key)
    if (known !== undefined) return known
    if (channels.size >= TIDY_AT) tidy(elapsed())
    const made = { isBusy: false, restsUntilMs: 0, waiting: new Map<string, number>() }
    channels.set(key, made)
    return made
  }

  return {
    /**
     * Takes the channel for one message, until `ended`.
     *
     * @param who the subscription; waiting ones have their turns in the order in which they came
     * @returns 0 where it is taken; otherwise for how long to wait before asking again, milliseconds
     */
    begin(url: string, who: string): number {
      const channel = channelOf(url)
      const { waiting } = channel
      const nowMs = elapsed()
      for (const [other, keptUntilMs] of waiting) if (keptUntilMs < nowMs) waiting.delete(other)
      const line = [...waiting.keys()]
      const isFree = !channel.isBusy && channel.restsUntilMs <= nowMs
      if (isFree && (line[0] ?? who) === who) {
        waiting.delete(who)
        channel.isBusy = true
        return 0
      }
      const place = waiting.has(who) ? line.indexOf(who) : line.length
      const waitMs = Math.max(channel.isBusy ? TURN_MS : 0, channel.restsUntilMs - nowMs) + place * TURN_MS
      // The first in line comes a moment after the rest; another that asks in between must not overtake it.
      const inMs = Math.max(waitMs, 1)
      waiting.set(who, nowMs + inMs + KEPT_MS)
      return inMs
    },
    /** The message is over. */
    ended(url: string): void {
      const channel = channelOf(url)
      assert(channel.isBusy, 'a channel ends what it began')
      channel.isBusy = false
    },
    /** Pauses a channel. */
    rest(url: string, restMs: number): void {
      const channel = channelOf(url)
      channel.restsUntilMs = Math.max(channel.restsUntilMs, elapsed() + restMs)
    },
  }
}
