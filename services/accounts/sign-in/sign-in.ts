import type { Subject } from '../../../contracts/domain/owner-accounts.ts'
import type { Tier } from '../../../contracts/domain/plans.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Origin } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  type AccountDeps,
  accountIdOf,
  type IssuedKey,
  makeKey,
  recordOf,
  withKeyNames,
} from '../account-deps.ts'
import { type Granted, provenSignIn } from '../decide-account.ts'
import { normaliseEmail } from '../email.ts'
import { entitlementOf } from '../identify.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { SessionClaims } from '../oauth/tokens.ts'
import type { AdmitMail } from './mail-limits.ts'
import type { PostOffice } from './post-office.ts'
import { createSignInCode, hashSignInCode, isSignInCode, readCode } from './sign-in-code.ts'
import { signInMail } from './sign-in-mail.ts'

export interface SignIn {
  /**
   * Makes a code and mails it. The steps and their duration are the same with and without an account: the code opens
   * the account, not the request for it. Past the limits nothing is sent, and the answer does not say so.
   *
   * @param wanted.client what the caller is for limits, an address say
   * @returns an id of this sign-in, which its code can be bound to
   * @throws ServiceError `invalid_request`, `rate_limited`, and those of the store
   */
  requestSignIn(wanted: { readonly email: string; readonly client: string }, origin: Origin): Promise<string>
  /**
   * Opens the account of an address, where it is not open, and issues a key.
   *
   * @param given.signInId of the request whose code it is; any code that was sent to the address is good without it
   * @param given.revoke id of a key to revoke in the same append
   * @throws ServiceError `sign_in_refused` for every reason that lies in the code, `limit_reached` (the code stays
   *   good), `not_found` for another key than one of the account, `invalid_request`, and those of the store
   */
  confirmSignIn(
    given: GivenCode & { readonly label: string; readonly revoke?: string | undefined },
    origin: Origin,
  ): Promise<IssuedKey & { readonly accountId: string; readonly tier: Tier }>
  /**
   * Opens the account of an address, if it is not open, and begins a session of the pages.
   *
   * @throws ServiceError `sign_in_refused`, `invalid_request`, `rate_limited`, and those of the store
   */
  beginSession(given: GivenCode, origin: Origin): Promise<BegunSession>
  /** Whether there is no mail server: codes go to the operator's terminal. */
  readonly hasNoMail: boolean
}

interface GivenCode {
  readonly email: string
  readonly code: string
  readonly signInId?: string | undefined
}

/** A new session; its secret is the sealed claims. */
export interface BegunSession {
  readonly secret: string
  readonly accountId: string
}

export interface SignInOptions extends AccountDeps {
  readonly codeSecret: Uint8Array
  readonly sealSession: (claims: SessionClaims) => string
  readonly postOffice: PostOffice
  readonly mailer: Pick<Mailer, 'isShown'>
  readonly admitMail: AdmitMail
  /** The public address of the service. */
  readonly publicUrl: () => string
}

export function createSignIn(options: SignInOptions): SignIn {
  const { log, idOf, newId, random, now, codeSecret, postOffice, admitMail, mailer } = options

  return {
    async requestSignIn({ email: text, client }, origin) {
      const email = normaliseEmail(text)
      const accountId = accountIdOf(idOf, email)
      const [code, requestId] = [createSignInCode(random), newId()]
      const { isOpen: hasAccount } = await log.load(accountId)
      if (!(await admitMail({ email, client, hasAccount }))) return requestId
      const codeHash = hashSignInCode(codeSecret, requestId, code)
      const { facts } = await log.execute(accountId, origin, () => [
        { kind: 'RequestSignIn', requestId, codeHash, now: now() },
      ])
      // Only what is recorded is sent: a code that was mailed always works.
      if (facts.length > 0) {
        const mail = signInMail(email, code, options.publicUrl())
        await postOffice.send(mail, `sign-in of account ${accountId}`)
      }
      return requestId
    },

    async confirmSignIn({ label, revoke, ...given }, origin) {
      const accountId = accountIdOf(idOf, normaliseEmail(given.email))
      const issued = makeKey(options, label)
      const confirm = (): Promise<string> =>
        confirmCode(options, given, origin, async (subject, isProven) => ({
          key: await recordOf(options, isProven ? subject : undefined, issued, origin),
          revoke,
        }))
      await withKeyNames(options, accountId, confirm)
      const { plans } = await log.load(accountId)
      return { ...issued, accountId, tier: entitlementOf(plans, now()).tier }
    },

    async beginSession(given, origin) {
      const accountId = await confirmCode(options, given, origin, () => ({}))
      const { generation } = await log.load(accountId)
      const claims = { sessionId: newId(), accountId, generation, begunAt: now() }
      return { secret: options.sealSession(claims), accountId }
    },

    hasNoMail: mailer.isShown === true,
  }
}

/**
 * Uses a code up, together with what it is given for.
 *
 * @returns the id of the account, which is open when it resolves
 */
async function confirmCode(
  options: SignInOptions,
  { email: text, code: typed, signInId: requestId }: GivenCode,
  origin: Origin,
  granted: (subject: Subject, isProven: boolean) => Promise<Granted> | Granted,
): Promise<string> {
  const { log, subjectKeys, identifier, idOf, now, codeSecret } = options
  const email = normaliseEmail(text)
  const code = readCode(typed)
  if (code === undefined) throw codeError()
  const accountId = accountIdOf(idOf, email)
  const isCode = (id: string, hash: string): boolean => isSignInCode(codeSecret, id, code, hash)
  await log.execute(accountId, origin, async (state) => {
    const given = { requestId, isCode, now: now() }
    const isProven = provenSignIn(state, given) !== undefined
    const subject = { accountId, generation: state.generation }
    const sealedEmail = isProven && !state.isOpen ? await subjectKeys.sealEmail(subject, email, origin) : ''
    return [{ kind: 'ConfirmSignIn', ...given, sealedEmail, ...(await granted(subject, isProven)) }]
  })
  await identifier.settled()
  return accountId
}

function codeError(): ServiceError {
  const problem = `must be the ${LIMITS.signInCodeCharacters} characters of the mail`
  return new ServiceError('invalid_request', {
    message: `code: ${problem}`,
    details: { fields: [{ field: 'code', problem }] },
  })
}
