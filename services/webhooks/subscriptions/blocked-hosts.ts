import { isIP } from 'node:net'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, Origin, RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { WEBHOOK_HOSTS_STREAM } from '../../../contracts/streams.ts'
import {
  WebhookHostAllowed,
  WebhookHostBlocked,
  webhookHostSchema,
} from '../../../contracts/webhook-host-events.ts'
import { CALLER_WAITS, type LogUse, type UnknownOutcome } from '../../log/append-until-known.ts'
import { createStreamRepository } from '../../log/stream-repository.ts'

/** A host that nothing is sent to. */
export interface BlockedHost {
  readonly host: string
  readonly reason: string
  /** Since when, Unix milliseconds. */
  readonly since: number
}

export interface BlockedHostsOptions extends LogUse {
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
}

type ByHost = ReadonlyMap<string, BlockedHost>

const LOOK_EVERY_MS = 1_000
const UNKNOWN: UnknownOutcome = {
  what: 'the host was changed',
  again: 'It can be asked for again as it was; `GET /operator/webhook-hosts` shows whether it happened.',
}

export type BlockedHosts = ReturnType<typeof createBlockedHosts>

/**
 * Hosts that the operator has nothing sent to, as the log has them.
 *
 * @example const hosts = createBlockedHosts({ store, newId, now, sleep, … }); hosts.isBlocked('bot.example.com')
 */
export function createBlockedHosts(options: BlockedHostsOptions) {
  const { newId, sleep, report } = options
  const repository = createStreamRepository<ByHost>({
    ...options,
    policy: CALLER_WAITS,
    streamOf: () => WEBHOOK_HOSTS_STREAM,
    initial: new Map(),
    evolve: evolveHosts,
    keep: 1,
  })
  let blocked: ByHost = new Map()

  async function refresh(): Promise<void> {
    blocked = (await repository.load(WEBHOOK_HOSTS_STREAM)).state
  }

  async function change(decide: (state: ByHost) => NewEvent[]): Promise<void> {
    await repository.execute(
      WEBHOOK_HOSTS_STREAM,
      (state) => ({ events: decide(state), result: undefined }),
      UNKNOWN,
    )
    await refresh()
  }

  return {
    /**
     * Whether nothing is sent to a name or an address: it is blocked itself, or a name above it. As this process knows it
     * by now, which is a second behind other processes at most.
     */
    isBlocked(host: string) {
      if (blocked.size === 0) return false
      if (blocked.has(host)) return true
      if (isIP(host) !== 0) return false
      for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
        if (blocked.has(host.slice(dot + 1))) return true
      }
      return false
    },
    /** Takes in what other processes did. @throws ServiceError of the store */
    refresh,
    /** In the order of the alphabet. @throws ServiceError of the store */
    async list() {
      await refresh()
      return [...blocked.values()].toSorted((a, b) => (a.host < b.host ? -1 : 1))
    },
    /** Blocking what is blocked does nothing. @throws ServiceError `invalid_request`; of the store */
    async block(text: string, reason: string, origin: Origin) {
      const host = hostOf(text)
      await change((state) => {
        if (state.has(host)) return []
        if (state.size >= LIMITS.webhookBlockedHosts) throw tooManyHostsError(state.size)
        return [newEvent(WebhookHostBlocked, { id: newId(), data: { host, reason }, meta: { ...origin } })]
      })
    },
    /** Allowing what is not blocked does nothing. @throws ServiceError `invalid_request`; of the store */
    async allow(text: string, reason: string, origin: Origin) {
      const host = hostOf(text)
      await change((state) =>
        state.has(host)
          ? [newEvent(WebhookHostAllowed, { id: newId(), data: { host, reason }, meta: { ...origin } })]
          : [],
      )
    },
    /** Looks at the log every second until the signal; told of what keeps it from that. */
    async follow(signal: AbortSignal) {
      let isWell = true
      while (!signal.aborted) {
        try {
          await refresh()
          isWell = true
        } catch (error) {
          if (isWell) report('blocked hosts cannot be looked up', { reason: reasonOf(error) })
          isWell = false
        }
        await sleep(LOOK_EVERY_MS, signal)
      }
    },
  }
}

function evolveHosts(before: ByHost, recorded: RecordedEvent): ByHost {
  const event = decodeEvent(recorded)
  const after = new Map(before)
  if (event.type === 'WebhookHostBlocked') {
    const { host, reason } = event.data
    after.set(host, { host, reason, since: Date.parse(event.at) })
  } else if (event.type === 'WebhookHostAllowed') after.delete(event.data.host)
  return after
}

/** A host as addresses of webhooks have it: in lower case, without a port, IPv6 without brackets. */
function hostOf(text: string): string {
  const authority = isIP(text) === 6 ? `[${text}]` : text
  const isOneHost = /^[^/?#@\\\s]+$/.test(authority) && URL.canParse(`https://${authority}/`)
  const url = isOneHost ? new URL(`https://${authority}/`) : undefined
  const host = url?.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (url?.port === '' && webhookHostSchema.safeParse(host).success) return host ?? ''
  throw new ServiceError('invalid_request', {
    message: `host: ${JSON.stringify(text.slice(0, 80))} is not a host: give a name as bot.example.com, or an address, without port and path`,
    details: { fields: [{ field: 'host', problem: 'is not a host' }] },
  })
}

const tooManyHostsError = (count: number): ServiceError =>
  new ServiceError('invalid_request', {
    message: `host: ${count} hosts are blocked, as many as there may be; allow one, or block a name above several`,
  })
