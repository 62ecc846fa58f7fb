import { Webhook } from 'standardwebhooks'
import { checkProof as checkProofOfClients } from '../../../clients/typescript/src/proofs.ts'
import { parseSeriesName } from '../../../contracts/domain/series.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { checkCompletion } from '../../../services/knowledge/check-completion.ts'
import { closedBars } from '../../../services/market/live/closed-bars.ts'
import { openCheckpoint, parseCheckpoint, parseVkey } from '../../../services/proof/note.ts'
import { checkProof, parseContent } from '../../../services/proof/proof-file.ts'
import { decodeEntry } from '../../../services/proof/tree/entry.ts'
import { parseTilePath } from '../../../services/proof/tree/tile-path.ts'
import { retryAfterMs } from '../../../services/runtime/http/retry-after.ts'
import { verifyWebhook } from '../../../services/webhooks/receiving/verify-webhook.fixture.ts'
import { checkUrl, isPublicAddress, isTrialAddress } from '../../../services/webhooks/sending/check-url.ts'
import { answerText, keptText } from '../../../services/webhooks/sending/http-attempt.ts'
import type { Target } from '../target.ts'

const textOf = (input: Buffer): string => input.toString('utf8')
const objectOf = (input: Buffer): Record<string, unknown> => {
  const value: unknown = JSON.parse(textOf(input))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SyntaxError('no object')
  return value as Record<string, unknown>
}
const BAR_COLUMNS = ['openTime', 'open', 'high', 'low', 'close', 'volume'] as const
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const VKEY = 'signals.example.com/log+1a2b3c4d+AQ'.padEnd(30, 'A')

/** Answers of webhooks, venues and logs of others. */
export const OUTSIDE_TARGETS: readonly Target[] = [
  {
    name: 'webhook-url',
    read: (input) => {
      const policy = { ownHosts: ['signals.example.com'] }
      checkUrl(textOf(input), { ...policy, allowPrivate: true })
      return checkUrl(textOf(input), { ...policy, allowPrivate: false })
    },
  },
  { name: 'address', read: (input) => [isPublicAddress(textOf(input)), isTrialAddress(textOf(input))] },
  {
    name: 'receiver-answer',
    read: (input) => [keptText(answerText([input])), retryAfterMs(textOf(input), 0, 60_000)],
  },
  {
    name: 'delivery',
    read(input) {
      const body = input
      const signed = new Webhook(SECRET).sign('id', new Date(0), textOf(input))
      verifyWebhook({
        secret: SECRET,
        headers: { 'webhook-signature': signed, 'x-service-timestamp': '0' },
        body,
        now: 0,
      })
    },
  },
  { name: 'tile-path', read: (input) => parseTilePath(textOf(input)) },
  { name: 'entry', read: (input) => decodeEntry(input) },
  { name: 'note', read: (input) => [parseCheckpoint(textOf(input)), openCheckpoint(textOf(input), [])] },
  { name: 'vkey', read: (input) => parseVkey(textOf(input)) },
  { name: 'proof', read: (input) => checkProof(textOf(input), []) },
  {
    name: 'proof-of-clients',
    read: (input) => checkProofOfClients(textOf(input), [VKEY]),
    refusesBy: ['SignalRefusal'],
  },
  { name: 'content', read: (input) => parseContent(textOf(input)) },
  { name: 'completion', read: (input) => checkCompletion(textOf(input), []) },
  {
    name: 'bars',
    read(input) {
      const rows: unknown = JSON.parse(textOf(input))
      if (!Array.isArray(rows)) throw new SyntaxError('no list')
      const bars = rows.map((row: unknown) =>
        Object.fromEntries(
          BAR_COLUMNS.map((name, at) => [name, Number(Array.isArray(row) ? row[at] : Number.NaN)]),
        ),
      )
      const series = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1m' } as const
      closedBars(bars as never, { series, now: Number.MAX_SAFE_INTEGER, onFault: () => undefined })
    },
    refusesBy: ['SyntaxError'],
  },
  {
    name: 'stream-name',
    read: (input) => parseSeriesName(textOf(input)),
  },
  {
    name: 'event',
    read: (input) => decodeEvent(objectOf(input) as unknown as RecordedEvent),
    refusesBy: ['SyntaxError'],
  },
]
