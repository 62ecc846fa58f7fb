import type { Tier } from '../../../contracts/plans.ts'
import type { Origin } from '../account-log.ts'
import { type AccountParts, accountIdOf, type IssuedKey, makeKey } from '../account-parts.ts'
import type { AccountState } from '../account-state.ts'
import { normaliseEmail } from '../email.ts'
import { entitlementOf } from '../identify.ts'
import type { PostOffice } from './post-office.ts'
import { createSignInCode, hashSignInCode, isSignInCode } from './sign-in-code.ts'
import { signInMail } from './sign-in-mail.ts'

export interface SignIn {
  /**
   * Makes a code and mails it. What happens, and how long it takes, is the same whether or not there is an account:
   * the account is opened by the code, not by asking for it. Past the limits of an address nothing is sent.
   *
   * @throws ServiceError `invalid_request`, `rate_limited`, and those of the store
   */
  requestSignIn(email: string, origin: Origin): Promise<void>
  /**
   * Opens the account of an address, where it is not open, and issues a key.
   *
   * @param given.revoke id of a key to revoke in the same append
   * @throws ServiceError `sign_in_refused` for every reason that lies in the code, `too_many_keys` (the code stays
   *   good), `not_found` for another key than one of the account, `invalid_request`, and those of the store
   */
  confirmSignIn(
    given: {
      readonly email: string
      readonly code: string
      readonly label: string
      readonly revoke?: string | undefined
    },
    origin: Origin,
  ): Promise<IssuedKey & { readonly accountId: string; readonly tier: Tier }>
}

export interface SignInOptions extends AccountParts {
  readonly codeSecret: Uint8Array
  readonly postOffice: PostOffice
  /** Where the service is reached. */
  readonly publicUrl: () => string
}

export function createSignIn(options: SignInOptions): SignIn {
  const { log, subjectKeys, identifier, idOf, newId, random, now, codeSecret, postOffice } = options

  return {
    async requestSignIn(text, origin) {
      const email = normaliseEmail(text)
      const accountId = accountIdOf(idOf, email)
      const [code, requestId] = [createSignInCode(random), newId()]
      const codeHash = hashSignInCode(codeSecret, requestId, code)
      const { facts } = await log.execute(accountId, origin, () => [
        { kind: 'RequestSignIn', requestId, codeHash, now: now() },
      ])
      // Only what is recorded is sent: a code that was mailed always works.
      if (facts.length === 0) return
      await postOffice.send(signInMail(email, code, options.publicUrl()), `sign-in of account ${accountId}`)
    },

    async confirmSignIn({ email: text, code, label, revoke }, origin) {
      const email = normaliseEmail(text)
      const accountId = accountIdOf(idOf, email)
      const isCode = (requestId: string, hash: string): boolean =>
        isSignInCode(codeSecret, requestId, code, hash)
      /** Nothing is made for who does not have the code. */
      const isProven = ({ signIn }: AccountState): boolean =>
        signIn !== undefined && isCode(signIn.requestId, signIn.codeHash)
      const { issued, record } = makeKey(options, label)
      await log.execute(accountId, origin, async (state) => {
        const { generation } = state
        const sealedEmail =
          state.isOpen || !isProven(state)
            ? ''
            : await subjectKeys.sealEmail({ accountId, generation }, email, origin)
        return [{ kind: 'ConfirmSignIn', isCode, sealedEmail, key: record, revoke, now: now() }]
      })
      await identifier.settled()
      const { plans } = await log.load(accountId)
      return { ...issued, accountId, tier: entitlementOf(plans, now()).tier }
    },
  }
}
