import type { OpenDelivery } from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Json, JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { ChatForm } from '../../../contracts/subscription.ts'
import type { SendOutcome } from './sender.ts'

/** How a chat service takes a message. */
interface Writing {
  /** Limit of one message, in UTF-16 units, after escaping; Slack cuts far later. */
  readonly mostCharacters: number
  /** Words from elsewhere, so that they neither format nor mention nor link. */
  readonly escape: (words: string) => string
  readonly link: (url: string) => string
  readonly body: (text: string) => JsonObject
}

/** Invisible; it keeps a service from linking or formatting the characters around it. */
const WORD_JOINER = '\u2060'
const apart = (words: string): string => words.replace(/[@#/.:$]/g, `$&${WORD_JOINER}`)
const asEntities = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const WRITINGS: Readonly<Record<ChatForm, Writing>> = {
  discord: {
    mostCharacters: 2_000,
    // A backslash in front of anything but letters and digits is its escape.
    escape: (words) => words.replace(/[!-/:-@[-`{-~]/g, '\\$&'),
    link: (url) => `<${url}>`,
    body: (content) => ({ content, allowed_mentions: { parse: [] } }),
  },
  slack: {
    mostCharacters: 4_000,
    escape: (words) => asEntities(apart(words)),
    link: asEntities,
    body: (text) => ({ text, mrkdwn: false, unfurl_links: false, unfurl_media: false }),
  },
  telegram: {
    mostCharacters: 4_096,
    // Without a `parse_mode` nothing formats, but names, tags and addresses are found in plain text, too.
    escape: apart,
    link: (url) => url,
    body: (text) => ({ text, link_preview_options: { is_disabled: true } }),
  },
}

const WORDS_CHARACTERS = 200
/** Kept free for how many rows were left out. */
const REST_CHARACTERS = 40

/**
 * The body of a message that says in words what `data` of a delivery says, with the link to the page of its series.
 * A digest is one message, with as many of its best rows as fit.
 *
 * @param data of a trade call, a regime shift, a digest, a model notice, or a notice of the service
 * @param baseUrl address of this service, without a slash at its end
 * @example chatBody('slack', data, baseUrl) // {"text":"BUY BTC on SIM, 1h: confidence 55 % that the upper\nhttps://…"…
 */
export function chatBody(form: ChatForm, data: JsonObject, baseUrl: string, mark = ''): Buffer {
  const writing = WRITINGS[form]
  const words = (value: Json | undefined): string => writing.escape(plain(value))
  const { head, rows, path } = told(data, words)
  const link = `\n${writing.link(`${baseUrl}${path}`)}`
  let text = `${mark}${head}`
  for (const [index, row] of rows.entries()) {
    const next = `${text}\n${row.text} ${writing.link(`${baseUrl}${row.path}`)}`
    if (next.length + link.length + REST_CHARACTERS > writing.mostCharacters) {
      text += `\nand ${rows.length - index} more`
      break
    }
    text = next
  }
  return Buffer.from(JSON.stringify(writing.body(`${text}${link}`)))
}

interface Told {
  readonly head: string
  readonly rows: readonly { readonly text: string; readonly path: string }[]
  /** Path of the page that says more. */
  readonly path: string
}

function told(data: JsonObject, words: (value: Json | undefined) => string): Told {
  const { coin, exchange, timeframe } = data
  const series = `${words(coin)} on ${words(exchange)}, ${words(timeframe)}`
  switch (data.type) {
    case 'trade_call':
      return {
        head: `${words(data.call)} ${series}: confidence ${words(data.confidence)} % that the ${data.call === 'BUY' ? 'upper' : 'lower'} barrier comes first, ${words(named(data.regime))}`,
        rows: [],
        path: seriesPath(data),
      }
    case 'regime_shift':
      return {
        head: `${series}: regime from ${words(named(data.prior_regime))} to ${words(named(data.regime))}, confidence ${words(data.confidence)} % that the likelier barrier comes first`,
        rows: [],
        path: seriesPath(data),
      }
    case 'scan_digest': {
      const calls = data.calls as readonly JsonObject[]
      return {
        head: `Scan of ${words(exchange)}, ${words(timeframe)}: ${calls.length === 0 ? 'no calls' : `the first ${calls.length}, with the probability that the called barrier comes first`}`,
        rows: calls.map((row) => ({
          text: `${words(row.rank)}: ${words(row.call)} ${words(row.coin)}, ${words(row.confidence)} %, ${words(named(row.regime))}`,
          path: seriesPath({ coin: row.coin ?? '', exchange: exchange ?? '', timeframe: timeframe ?? '' }),
        })),
        path: '/',
      }
    }
    case 'model_notice':
      return {
        head: `Calls at ${words(timeframe)} are ${words(data.change)}: model ${words(data.model_version)}, from ${words(data.from)}`,
        rows: [],
        path: '/track-record',
      }
    default:
      return {
        head: `Your webhook at ${words(data.origin)} ${data.kind === 'recovered' ? 'works again' : `is ${words(data.state)}: ${words(data.reason)}`}`,
        rows: [],
        path: `/webhooks/${encodeURIComponent(plain(data.subscription_id))}`,
      }
  }
}

/** On one line, and not long. */
const plain = (value: Json | undefined): string =>
  (typeof value === 'string' ? value : JSON.stringify(value ?? null))
    .toWellFormed()
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .slice(0, WORDS_CHARACTERS)
    .toWellFormed()

/** @example named('TRENDING_UP') === 'trending up' */
const named = (regime: Json | undefined): string => plain(regime).toLowerCase().replaceAll('_', ' ')

const seriesPath = ({ exchange, coin, timeframe }: JsonObject): string =>
  `/series/${[exchange, coin, timeframe].map((part) => encodeURIComponent(plain(part))).join('/')}`

/** The requested channel of a subscription. */
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
    if (url !== undefined) throw refusedError('url', 'does not go with form telegram')
    if (!BOT_TOKEN.test(token ?? ''))
      throw refusedError('bot_token', 'must be a token as BotFather gives them')
    const id = String(chat ?? '')
    if (!CHAT_ID.test(id))
      throw refusedError('chat_id', 'must be the number of a chat, or @ and the name of one')
    return `https://api.telegram.org/bot${token}/sendMessage?chat_id=${encodeURIComponent(id)}`
  }
  if (token !== undefined) throw refusedError('bot_token', 'goes with form telegram alone')
  if (chat !== undefined) throw refusedError('chat_id', 'goes with form telegram alone')
  if (url === undefined) throw refusedError('url', 'is required')
  return url
}

const refusedError = (field: string, problem: string): ServiceError =>
  new ServiceError('invalid_request', {
    message: `${field}: ${problem}`,
    details: { fields: [{ field, problem }] },
  })

/** The part of an address that may be shown: the rest of a channel's address is its key. */
export const shownAddress = (url: string, form: ChatForm | null): string =>
  form === null ? url : new URL(url).origin

const SECOND_MS = 1_000
/** A telegram group takes 20 messages in a minute; every other channel, one in a second. */
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
