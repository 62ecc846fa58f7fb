import { isIP } from 'node:net'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Revision } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { WEBHOOK_HOSTS_STREAM } from '../../../contracts/streams.ts'
import {
  WebhookHostAllowed,
  WebhookHostBlocked,
  webhookHostSchema,
} from '../../../contracts/webhook-host-events.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { Origin } from './owner-accounts.ts'

/** A host that nothing is sent to. */
export interface BlockedHost {
  readonly host: string
  readonly reason: string
  /** Since when, Unix milliseconds. */
  readonly since: number
}

/** Hosts that the operator has nothing sent to, as the log has them. */
export interface BlockedHosts {
  /**
   * Whether nothing is sent to a name or an address: it is blocked itself, or a name above it. As this process knows it
   * by now, which is a second behind other processes at most.
   */
  isBlocked(host: string): boolean
  /** Takes in what other processes did. @throws ServiceError of the store */
  refresh(): Promise<void>
  /** In the order of the alphabet. @throws ServiceError of the store */
  list(): Promise<readonly BlockedHost[]>
  /** Blocking what is blocked does nothing. @throws ServiceError `invalid_request`; of the store */
  block(host: string, reason: string, origin: Origin): Promise<void>
  /** Allowing what is not blocked does nothing. @throws ServiceError `invalid_request`; of the store */
  allow(host: string, reason: string, origin: Origin): Promise<void>
  /** Looks at the log every second until the signal; told of what keeps it from that. */
  follow(signal: AbortSignal): Promise<void>
}

export interface BlockedHostsOptions {
  readonly store: Pick<EventStore, 'read' | 'append'>
  readonly newId: () => string
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
}

const LOOK_EVERY_MS = 1_000
/** Lost races after which something is wrong: each was lost to an event that is in the log now. */
const MOST_RACES = 16

/** @example const hosts = createBlockedHosts({ store, newId, sleep, report }); hosts.isBlocked('bot.example.com') */
export function createBlockedHosts({ store, newId, sleep, report }: BlockedHostsOptions): BlockedHosts {
  const blocked = new Map<string, BlockedHost>()
  let revision: Revision | 'no-stream' = 'no-stream'

  async function refresh(): Promise<void> {
    const from = revision === 'no-stream' ? 0 : revision + 1
    for await (const recorded of store.read(WEBHOOK_HOSTS_STREAM, { from })) {
      // EventStoreDB begins at the end where there is nothing from here on; and two looks may overlap.
      if (revision !== 'no-stream' && recorded.revision <= revision) continue
      const event = decodeEvent(recorded)
      if (event.type === 'WebhookHostBlocked') {
        const { host, reason } = event.data
        blocked.set(host, { host, reason, since: Date.parse(event.at) })
      } else if (event.type === 'WebhookHostAllowed') blocked.delete(event.data.host)
      revision = recorded.revision
    }
  }

  /** Decides over the newest state, anew where somebody else was quicker or the answer of the log was lost. */
  async function change(
    decide: () => 'done' | typeof WebhookHostBlocked | typeof WebhookHostAllowed,
    data: { readonly host: string; readonly reason: string },
    origin: Origin,
  ): Promise<void> {
    const id = newId()
    for (let races = 0; races < MOST_RACES; races++) {
      await refresh()
      const definition = decide()
      if (definition === 'done') return
      try {
        const event = newEvent(definition, { id, data, meta: { ...origin } })
        await store.append(WEBHOOK_HOSTS_STREAM, [event], { expected: revision })
      } catch (error) {
        if (!isServiceError(error, 'revision_conflict') && !isServiceError(error, 'append_unknown'))
          throw error
      }
    }
    throw new ServiceError('store_unavailable', {
      message: `the hosts that are blocked changed ${MOST_RACES} times while ${data.host} was to be changed; nothing was done`,
    })
  }

  return {
    isBlocked(host) {
      if (blocked.size === 0) return false
      if (blocked.has(host)) return true
      if (isIP(host) !== 0) return false
      for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
        if (blocked.has(host.slice(dot + 1))) return true
      }
      return false
    },
    refresh,
    async list() {
      await refresh()
      return [...blocked.values()].toSorted((a, b) => (a.host < b.host ? -1 : 1))
    },
    async block(text, reason, origin) {
      const host = hostOf(text)
      const decide = () => {
        if (blocked.has(host)) return 'done'
        if (blocked.size >= LIMITS.webhookBlockedHosts) throw tooMany(blocked.size)
        return WebhookHostBlocked
      }
      await change(decide, { host, reason }, origin)
    },
    async allow(text, reason, origin) {
      const host = hostOf(text)
      await change(() => (blocked.has(host) ? WebhookHostAllowed : 'done'), { host, reason }, origin)
    },
    async follow(signal) {
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

const tooMany = (count: number): ServiceError =>
  new ServiceError('invalid_request', {
    message: `host: ${count} hosts are blocked, as many as there may be; allow one, or block a name above several`,
  })
