import type { Json, JsonObject } from '../../../contracts/json.ts'
import type { ChatForm } from '../../../contracts/subscription.ts'

/** How a chat service takes a message. */
interface Writing {
  /** Of one message, in UTF-16 units, after escaping; Slack cuts only far behind this. */
  readonly mostCharacters: number
  /** Words from elsewhere, so that they neither format nor mention nor link. */
  readonly escape: (words: string) => string
  readonly link: (url: string) => string
  readonly body: (text: string) => JsonObject
}

/** Invisible, and the end of whatever a service would make of the characters around it. */
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
 * @example chatBody('slack', data, baseUrl) // {"text":"BUY BTC on SIM, 1h: confidence 55 %, trending up\nhttps://…"…
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
  /** Of the page that says more. */
  readonly path: string
}

function told(data: JsonObject, words: (value: Json | undefined) => string): Told {
  const { coin, exchange, timeframe } = data
  const series = `${words(coin)} on ${words(exchange)}, ${words(timeframe)}`
  switch (data.type) {
    case 'trade_call':
      return {
        head: `${words(data.call)} ${series}: confidence ${words(data.confidence)} %, ${words(named(data.regime))}`,
        rows: [],
        path: seriesPath(data),
      }
    case 'regime_shift':
      return {
        head: `${series}: regime from ${words(named(data.prior_regime))} to ${words(named(data.regime))}, confidence ${words(data.confidence)} %`,
        rows: [],
        path: seriesPath(data),
      }
    case 'scan_digest': {
      const calls = data.calls as readonly JsonObject[]
      return {
        head: `Scan of ${words(exchange)}, ${words(timeframe)}: ${calls.length === 0 ? 'no calls' : `the first ${calls.length}`}`,
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
        head: `Your webhook at ${words(data.origin)} is ${words(data.state)}: ${words(data.reason)}`,
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
