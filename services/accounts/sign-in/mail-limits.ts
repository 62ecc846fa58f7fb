import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Cache, Count } from '../../runtime/cache/cache.ts'
import { createMemoryCache } from '../../runtime/cache/memory-cache.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'

/** A sign-in mail that somebody asked for. */
export interface WantedMail {
  /** In its one spelling. */
  readonly email: string
  /** The caller's name for limits. */
  readonly client: string
  /** Whether the address has an account that is open. */
  readonly hasAccount: boolean
}

/** Counts a mail and decides whether it may be sent: no mailbox is flooded, and none is cut off. */
export type AdmitMail = (mail: WantedMail) => Promise<boolean>

export interface MailLimitsOptions extends Pick<Clock, 'now'> {
  /** Shared by the processes of a service. While it is away, this process counts by itself. */
  readonly cache: Pick<Cache, 'increment'>
  readonly idOf: FactId
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
  /** Counts mails, sent and held back, for alarms. */
  readonly onMail: (outcome: 'sent' | 'held') => void
}

/**
 * The mailbox of an address. The part after a plus sign only sorts mail, and anybody can make up any number of them for one
 * mailbox.
 *
 * @example mailboxOf('ada+news@example.com') === 'ada@example.com'
 */
export const mailboxOf = (email: string): string => email.replace(/\+[^@]*(?=@)/, '')

/**
 * Counts, the narrowest first, so that a mail that one refuses uses up nothing of the next: mails to a mailbox for one
 * client; mails to a mailbox, in a window half as long as a code is valid, so that a refused owner still holds a valid
 * code; mails in a day to a mailbox without an account; and mails in an hour. Past the hourly limit, which raises an
 * alarm, only owners of accounts are sent mail.
 */
export function createMailLimits({ cache, now, idOf, report, onMail }: MailLimitsOptions): AdmitMail {
  const fallback = createMemoryCache({ now })

  async function count(name: string, subject: string, ttlMs: number): Promise<Count> {
    const key = `${name}:${idOf(name, subject)}`
    try {
      return await cache.increment(key, { ttlMs })
    } catch (error) {
      if (!isServiceError(error, 'dependency_unavailable')) throw error
      return fallback.increment(key, { ttlMs })
    }
  }

  async function isWithin(name: string, subject: string, ttlMs: number, limit: number): Promise<boolean> {
    return (await count(name, subject, ttlMs)).count <= limit
  }

  async function isWithinHour(hasAccount: boolean): Promise<boolean> {
    const { count: sent } = await count('sign-in-mails', 'all', HOUR_MS)
    if (sent === LIMITS.signInMailsPerHour + 1) {
      report('sign-in mails are held back', { per_hour: String(LIMITS.signInMailsPerHour) })
    }
    return sent <= (hasAccount ? 2 : 1) * LIMITS.signInMailsPerHour
  }

  async function isAdmitted({ email, client, hasAccount }: WantedMail): Promise<boolean> {
    const mailbox = mailboxOf(email)
    return (
      (await isWithin('sign-in-pair', `${mailbox} ${client}`, HOUR_MS, LIMITS.signInsPerMailboxAndAddress)) &&
      (await isWithin('sign-in-mailbox', mailbox, LIMITS.signInMailboxMs, LIMITS.signInsPerMailbox)) &&
      // Nobody there may have asked for any; an owner is never cut off.
      (hasAccount || (await isWithin('sign-in-day', mailbox, DAY_MS, LIMITS.signInsPerStranger))) &&
      (await isWithinHour(hasAccount))
    )
  }

  return async (mail) => {
    const isAllowed = await isAdmitted(mail)
    onMail(isAllowed ? 'sent' : 'held')
    return isAllowed
  }
}
