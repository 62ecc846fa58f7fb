import { randomBytes, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { SIGNAL_TYPES } from '../../../contracts/subscription.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { eventsAnswerSchema, subscriptionAnswerSchema } from '../../../contracts/webhook-answers.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import {
  createEgressGuard,
  createGuardedSender,
  createSecret,
  createSign,
  regimeShiftData,
  type SampleOutcome,
  sendSample,
  tradeCallData,
} from '../../webhooks/index.ts'
import { type CommandInput, defineCommand } from '../kit/command.ts'
import { FILTER_FLAGS, queryOf, SOURCE_FLAGS } from '../kit/common-flags.ts'
import { Service } from '../kit/service.ts'

const FLAGS = {
  sample: {
    schema: z.enum(SIGNAL_TYPES).optional(),
    help: `Sends one sample of this event and ends: ${SIGNAL_TYPES.join(', ')}.`,
    example: 'trade_call',
  },
  secret: {
    schema: z.string().startsWith('whsec_', { error: 'must be a secret of a webhook' }).optional(),
    help: 'The secret to sign with, as of a webhook. Default: a new one.',
    example: 'whsec_d2hzZWNfb2YtYS10cmlhbC13ZWJob29rLTMyYnl0ZXM=',
  },
  webhook: {
    schema: z.uuid().optional(),
    help: 'The id of a webhook of yours: relays its deliveries, with your key in the variable API_KEY.',
    example: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
  },
  ...FILTER_FLAGS,
  server: {
    ...SOURCE_FLAGS.server,
    schema: SOURCE_FLAGS.server.schema.default('http://127.0.0.1:8402'),
    help: 'Address of the service. Default: http://127.0.0.1:8402.',
  },
} as const
type Input = CommandInput<typeof FLAGS>

/** How often a webhook is asked for more. */
const AGAIN_MS = 1_000
/** The same verdict has the same id in every run. */
const idOf = createFactIds(Buffer.from('signal listen'))

export const listenCommand = defineCommand({
  name: 'listen',
  summary: 'Relays signals to a receiver on this machine, signed as webhooks are.',
  notes: [
    'It prints the secret that it signs with, and a line for each delivery. Each is sent once: what the receiver does not take is not sent again.',
    'Without --webhook it sends the calls and regime shifts of the live stream, once the windows of their verdicts have closed. With it, what that webhook is sent from now on, with the same ids and bodies; signals whose window is open come once its endpoint has taken a delivery.',
  ],
  operands: ['address'],
  flags: FLAGS,
  examples: [
    'signal listen http://127.0.0.1:9000/hook --coin BTC',
    'signal listen http://127.0.0.1:9000/hook --sample regime_shift',
  ],
  async run(input) {
    const { flags, operands, stdout, stderr, signal } = input
    const [url = ''] = operands
    // The address is chosen by the person who types it: nothing is kept from it.
    const guard = createEgressGuard({ allowPrivate: true, isBlocked: () => false, ownHosts: [] })
    guard.check(url)
    const secret = flags.secret ?? createSecret(randomBytes)
    stderr.write(`signed with ${secret}\n`)
    const sender = createGuardedSender({ guard, now: Date.now })
    const sign = createSign({ userAgent: 'signal-listen' })
    const tell = (event: string, about: string, { kind, status, durationMs, detail }: Outcome): void => {
      const answer = status ?? `${kind.replaceAll('_', ' ')}, ${detail}`
      stdout.write(`${isoTime(Date.now())}  ${event}  ${about}  ${answer}  ${Math.round(durationMs)} ms\n`)
    }
    try {
      if (flags.sample !== undefined) {
        const parts = { sender, sign, newId: randomUUID, now: Date.now, baseUrl: () => flags.server }
        const sample = await sendSample(parts, { url, secrets: [secret] }, flags.sample)
        tell(sample.event, 'sample', sample.outcome)
        return sample.isAccepted ? 0 : 1
      }
      for await (const delivery of deliveriesOf(input)) {
        const { event, delivery_id: deliveryId, sequence, data } = delivery
        const body = Buffer.from(JSON.stringify(delivery))
        const headers = sign([secret], { event, deliveryId, body, at: Date.now(), sequence, attempt: 1 })
        const words = [data.coin, data.timeframe, data.exchange, data.call ?? data.regime]
        const about = words.flatMap((word) => (typeof word === 'string' ? [word] : [])).join(' ')
        tell(event, about, await sender.send({ url, headers, body }, signal))
      }
      return 0
    } finally {
      await sender.close()
    }
  },
})

type Outcome = SampleOutcome['outcome']

interface Delivery extends JsonObject {
  readonly event: string
  readonly delivery_id: string
  readonly created_at: string
  readonly sequence: number
  readonly data: JsonObject
}

async function* deliveriesOf({ flags, texts, stderr, environment, signal }: Input): AsyncGenerator<Delivery> {
  const { webhook: id, server: url } = flags
  const onWait = (why: string, waitMs: number): void =>
    void stderr.write(`${url}: ${why}; asking again in ${waitMs / 1_000} s\n`)
  const token = environment['API_KEY']
  const service = new Service({ url, token, onWait }, signal)
  if (id === undefined) {
    let sequence = 0
    const parameters = queryOf(texts, Object.keys(FILTER_FLAGS))
    for await (const row of service.verdicts('follow', parameters, Number.MAX_SAFE_INTEGER))
      for (const data of signalsOf(row as unknown as VerdictRow, url)) {
        const [event, created_at] = [data.type as string, row.recorded_at]
        sequence += 1
        yield { event, delivery_id: idOf(event, row.verdict_id), created_at, sequence, data }
      }
    return
  }
  if (token === undefined) throw new ServiceError('config_invalid', { message: '--webhook takes API_KEY' })
  const { cursor } = await service.get(`/api/webhooks/${id}`, {}, subscriptionAnswerSchema)
  for (let after = texts.after ?? String(cursor.sequence - 1); !signal.aborted; ) {
    const page = await service.get(`/api/webhooks/${id}/events`, { after }, eventsAnswerSchema)
    yield* page.events
    after = page.next ?? String(page.events.at(-1)?.sequence ?? after)
    if (page.next === null) await sleep(AGAIN_MS, signal)
  }
}

/** The signals of a verdict, with the fields that webhooks are sent with. */
function signalsOf(row: VerdictRow, server: string): JsonObject[] {
  const { expected_range: range, expected_volatility: volatility } = row
  const verdict = {
    ...row,
    barClose: Date.parse(row.bar_close),
    validUntil: Date.parse(row.valid_until),
    verdictId: row.verdict_id,
    modelVersion: row.model_version,
    forecast: range && { model: '', volatility: volatility ?? 0, ...range },
  }
  const { shifted_from: priorRegime } = row
  return [
    ...(row.call === 'HOLD' ? [] : [tradeCallData(verdict, server)]),
    ...(priorRegime === '' ? [] : [regimeShiftData({ ...verdict, priorRegime }, server)]),
  ]
}
