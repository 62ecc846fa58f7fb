import type { EventType } from './event-catalogue.ts'

/**
 * Events after which something does not hold any more. They are kept in a list beside the log as well, and a log that was set
 * back is given them again. A type belongs here when its event, at the
 * end of its stream, does the same as where it was. Accounts that were erased have a list of their own.
 */
export const REVOCATIONS = [
  'AppEnded',
  'KeyRevoked',
  'SecretRotated',
  'SessionEnded',
  'SignInConfirmed',
  'SubscriptionRemoved',
] as const satisfies readonly EventType[]
