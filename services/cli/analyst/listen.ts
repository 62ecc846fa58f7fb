import { randomBytes, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { SIGNAL_TYPES } from '../../../contracts/subscription.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { eventsAnswerSchema, subscriptionAnswerSchema } from '../../../contracts/webhook-answers.ts'
import { replayFilterOf } from '../../analyst/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import {
  createEgressGuard,
  createGuardedSender,
  createSecret,
  createSign,
  type SampleOutcome,
  sendSample,
} from '../../webhooks/index.ts'
import { type CommandInput, defineCommand } from '../kit/command.ts'
import { FILTER_FLAGS, queryOf, SOURCE_FLAGS } from '../kit/common-flags.ts'
import { withVerdictSource } from '../kit/open-verdict-source.ts'
import { Service } from '../kit/service.ts'

const FLAGS = {
  sample: {
    schema: z.enum(SIGNAL_TYPES).optional(),
    help: `Sends one sample of this event and ends: ${SIGNAL_TYPES.join(', ')}.`,
    example: 'trade_call',
  },
  secret: {
    schema: z
      .string()
      .regex(/^whsec_[A-Za-z0-9+/]{20,}={0,2}$/, { error: 'must be a secret of a webhook' })
      .optional(),
    help: 'The secret to sign with, as of a webhook. Default: a new one.',
    example: 'whsec_d2hzZWNfb2YtYS10cmlhbC13ZWJob29rLTMyYnl0ZXM=',
  },
  webhook: {
    schema: z.uuid().optional(),
    help: 'The id of a webhook of yours: relays its deliveries. Takes --server and --api-key.',
    example: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
  },
  'api-key': {
    schema: z.string().min(1).optional(),
    help: 'Your API key, with --webhook. Default: API_KEY of the environment.',
    example: 'sk_live_…',
  },
  ...FILTER_FLAGS,
  ...SOURCE_FLAGS,
} as const
type Input = CommandInput<typeof FLAGS>

/** How often a webhook is asked for more. */
const AGAIN_MS = 1_000
const DEFAULT_URL = 'http://127.0.0.1:8402'
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
    'signal listen http://127.0.0.1:9000/hook --server http://127.0.0.1:8402 --coin BTC',
    'signal listen http://127.0.0.1:9000/hook --sample regime_shift',
  ],
  async run(input) {
    const { flags, operands, stdout, stderr, signal } = input
    const [address = ''] = operands
    // The address is of who types it: nothing is kept from it.
    const guard = createEgressGuard({ allowPrivate: true, isBlocked: () => false, ownHosts: [] })
    guard.check(address)
    const secret = flags.secret ?? createSecret(randomBytes)
    stderr.write(`signed with ${secret}\n`)
    const sender = createGuardedSender({ guard, now: Date.now })
    const sign = createSign({ userAgent: 'signal-listen' })
    const told = (event: string, about: string, { outcome }: Pick<SampleOutcome, 'outcome'>): void => {
      const { kind, status, durationMs, detail } = outcome
      const answer = status ?? `${kind.replaceAll('_', ' ')}, ${detail}`
      stdout.write(`${isoTime(Date.now())}  ${event}  ${about}  ${answer}  ${Math.round(durationMs)} ms\n`)
    }
    try {
      if (flags.sample !== undefined) {
        const parts = {
          sender,
          sign,
          newId: randomUUID,
          now: Date.now,
          baseUrl: () => flags.server ?? DEFAULT_URL,
        }
        const sample = await sendSample(parts, { url: address, secrets: [secret], form: null }, flags.sample)
        told(sample.event, 'sample', sample)
        return sample.isAccepted ? 0 : 1
      }
      const send = async (delivery: Delivery): Promise<void> => {
        const { event, delivery_id: deliveryId, sequence, data } = delivery
        const body = Buffer.from(JSON.stringify(delivery))
        const headers = sign([secret], { event, deliveryId, body, at: Date.now(), sequence, attempt: 1 })
        const outcome = await sender.send({ url: address, headers, body }, signal)
        const words = [data.coin, data.timeframe, data.exchange, data.call ?? data.regime]
        told(event, words.filter((word) => word !== undefined).join(' '), { outcome })
      }
      if (flags.webhook === undefined) await relayStream(input, send)
      else for await (const delivery of deliveriesOf(flags.webhook, input)) await send(delivery)
      return 0
    } finally {
      await sender.close()
    }
  },
})

interface Delivery {
  readonly event: string
  readonly delivery_id: string
  readonly created_at: string
  readonly sequence: number
  readonly data: JsonObject
}

async function* deliveriesOf(
  id: string,
  { flags, texts, stderr, environment, signal }: Input,
): AsyncGenerator<Delivery> {
  const { server: url, 'api-key': token = environment['API_KEY'] } = flags
  if (url === undefined || token === undefined)
    throw new ServiceError('config_invalid', { message: '--webhook takes --server and --api-key too' })
  const onWait = (why: string, waitMs: number): void =>
    void stderr.write(`${url}: ${why}; asking again in ${waitMs / 1_000} s\n`)
  const service = new Service({ url, token, onWait }, signal)
  const { cursor } = await service.get(`/api/webhooks/${id}`, {}, subscriptionAnswerSchema)
  for (let after = texts.after ?? String(cursor.sequence - 1); !signal.aborted; ) {
    const page = await service.get(`/api/webhooks/${id}/events`, { after }, eventsAnswerSchema)
    for (const event of page.events) yield event
    after = page.next ?? String(page.events.at(-1)?.sequence ?? after)
    if (page.next === null) await sleep(AGAIN_MS, signal)
  }
}

async function relayStream(input: Input, send: (delivery: Delivery) => Promise<void>): Promise<void> {
  const { flags, texts, signal } = input
  const { after, server = DEFAULT_URL } = flags
  const parameters = queryOf(texts, Object.keys(FILTER_FLAGS))
  const request = { filter: replayFilterOf(flags), limit: Number.MAX_SAFE_INTEGER, parameters, signal }
  let sequence = 0
  await withVerdictSource(input, async (source) => {
    for await (const row of source.follow({ ...request, ...(after !== undefined && { after }) }))
      for (const data of signalsOf(row, server)) {
        sequence += 1
        const event = data.type as string
        const delivery_id = idOf(event, row.verdict_id)
        await send({ event, delivery_id, created_at: row.recorded_at, sequence, data })
      }
  })
}

/** What a webhook is sent of a verdict, with the fields that it is sent with. */
function signalsOf(row: VerdictRow, server: string): JsonObject[] {
  const { coin, timeframe, exchange, call, confidence, strength, regime, price, bar_close } = row
  const { valid_until, verdict_id, model_version, expected_range, expected_volatility } = row
  const series = { coin, timeframe, exchange }
  const verify_url = `${server}/verify/${verdict_id}`
  const forecast = expected_range === null ? {} : { expected_range, expected_volatility }
  const said = {
    call,
    confidence,
    strength,
    regime,
    price,
    bar_close,
    valid_until,
    verdict_id,
    model_version,
  }
  const shift = { regime, prior_regime: row.shifted_from, confidence, bar_close, verdict_id }
  return [
    ...(call === 'HOLD' ? [] : [{ type: 'trade_call', ...series, ...said, ...forecast, verify_url }]),
    ...(row.shifted_from === '' ? [] : [{ type: 'regime_shift', ...series, ...shift, verify_url }]),
  ]
}
