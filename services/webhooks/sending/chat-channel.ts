import type { OpenDelivery } from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { ChatForm } from '../../../contracts/subscription.ts'
import type { SendOutcome } from './sender.ts'

/** Where a subscription is to be sent to, as it is asked for. */
export interface ChannelRequest {
  /** Signed JSON without it. */
  readonly form?: 'signed_json' | ChatForm | undefined
  readonly url?: string | undefined
  readonly bot_token?: string | undefined
  readonly chat_id?: string | number | undefined
}

const BOT_TOKEN = /^\d{1,20}:[\w-]{20,100}$/
const CHAT_ID = /^(?:-?\d{1,20}|@[A-Za-z]\w{3,31})$/

/**
 * The address of a channel. That of a telegram chat holds token and chat: all of it is sealed as one.
 *
 * @throws ServiceError `invalid_request`, which names the field and does not repeat what it holds
 * @example addressOf({ url: 'https://bot.example.com/hook' }) === 'https://bot.example.com/hook'
 */
export function addressOf({ form, url, bot_token: token, chat_id: chat }: ChannelRequest): string {
  if (form === 'telegram') {
    if (url !== undefined) throw refused('url', 'does not go with form telegram')
    if (!BOT_TOKEN.test(token ?? '')) throw refused('bot_token', 'must be a token as BotFather gives them')
    const id = String(chat ?? '')
    if (!CHAT_ID.test(id)) throw refused('chat_id', 'must be the number of a chat, or @ and the name of one')
    return `https://api.telegram.org/bot${token}/sendMessage?chat_id=${encodeURIComponent(id)}`
  }
  if (token !== undefined) throw refused('bot_token', 'goes with form telegram alone')
  if (chat !== undefined) throw refused('chat_id', 'goes with form telegram alone')
  if (url === undefined) throw refused('url', 'is required')
  return url
}

const refused = (field: string, problem: string): ServiceError =>
  new ServiceError('invalid_request', {
    message: `${field}: ${problem}`,
    details: { fields: [{ field, problem }] },
  })

/** What of an address is shown: that of a channel is its key. */
export const shownAddress = (url: string, form: ChatForm | null): string =>
  form === null ? url : new URL(url).origin

const SECOND_MS = 1_000
/** A telegram group takes 20 messages in a minute; whoever else, one in a second. */
const GROUP_MS = 3 * SECOND_MS
const GROUP = /[?&]chat_id=(?:-|%40)/

/** An answer of a chat service with what its body says of when to come again, where no header does. */
export function withAskedWait(outcome: SendOutcome): SendOutcome {
  if (outcome.status !== 429 || outcome.retryAfterMs !== undefined) return outcome
  // Telegram has it among `parameters`, Discord at the top. Of a body that was cut the number is enough.
  const seconds = Number(/"retry_after"\s*:\s*(\d{1,9}(?:\.\d{1,9})?)/.exec(outcome.detail)?.[1])
  if (Number.isNaN(seconds)) return outcome
  return {
    ...outcome,
    retryAfterMs: Math.min(Math.ceil(seconds * SECOND_MS), LIMITS.webhookRetryAfterMs),
  }
}

const NAMES: Readonly<Record<ChatForm, string>> = { discord: 'Discord', slack: 'Slack', telegram: 'Telegram' }
/**
 * Answers after which a channel takes nothing more until somebody changes something there: the webhook was deleted or
 * its token made anew, the channel archived, the bot blocked or removed.
 */
const REMOVED: Readonly<Record<ChatForm, ReadonlySet<number>>> = {
  discord: new Set([401, 404, 410]),
  slack: new Set([404, 410]),
  telegram: new Set([401, 403, 404, 410]),
}

/** Why nothing will ever be taken there again, in words for its owner; undefined where it may be. */
export const removedReason = (
  form: ChatForm,
  { status = 0 }: Pick<SendOutcome, 'status'>,
): string | undefined =>
  REMOVED[form].has(status)
    ? `${NAMES[form]} answered ${status}: the webhook or the bot was removed there, or may not write any more`
    : undefined

/** Until when a channel asked for quiet, by what it refused and is to be sent again; Unix milliseconds. */
export function quietUntil(open: Iterable<Pick<OpenDelivery, 'status' | 'nextAt'>>): number | undefined {
  let until: number | undefined
  for (const { status, nextAt } of open) if (status === 429) until = Math.max(until ?? 0, nextAt)
  return until
}

/** For how long nothing more is sent to a channel after an answer, milliseconds. */
export function restAfter(
  form: ChatForm,
  url: string,
  { status, retryAfterMs, windowMs = 0 }: SendOutcome,
): number {
  if (status === 429) return retryAfterMs ?? SECOND_MS
  if (form === 'discord') return windowMs
  return form === 'telegram' && GROUP.test(url) ? GROUP_MS : SECOND_MS
}
