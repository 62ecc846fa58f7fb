import { z } from 'zod'
import { scopeSchema } from '../domain/oauth.ts'
import { accountId, sha256 as hash, reason, sealed, timeMs } from '../infra/field-schemas.ts'
import { defineEvent } from './event-definition.ts'

const scopes = z.array(scopeSchema).min(1).max(8)
const stream = 'account-{account}'

export const AppAuthorized = defineEvent({
  type: 'AppAuthorized',
  stream,
  summary:
    'The owner of an account let a program act for it, and a code was made that the program exchanges. Of the code, the client and its redirect address keyed or plain hashes are kept; what the program is called is sealed.',
  data: z.object({
    accountId,
    grantId: z.uuid(),
    /** Client id, name and redirect host as JSON, sealed under the key of the account. */
    app: sealed,
    clientHash: z.uuid(),
    redirectHash: hash,
    codeHash: hash,
    /** The challenge of PKCE (RFC 7636, S256). */
    challenge: z.string().regex(/^[\w-]{43}$/),
    scopes,
    codeExpiresAt: timeMs,
  }),
})

export const AppTokenIssued = defineEvent({
  type: 'AppTokenIssued',
  stream,
  summary:
    'A program was given an access token and a refresh token, for its code or for the refresh token before. The hash of the refresh token is kept; the one before it is used up.',
  data: z.object({ accountId, grantId: z.uuid(), refreshHash: hash, expiresAt: timeMs }),
})

export const AppEnded = defineEvent({
  type: 'AppEnded',
  stream,
  summary:
    'A program may not act for the account any more: its owner ended it, it gave its token back, or a code or a refresh token of it was used twice.',
  data: z.object({ accountId, grantId: z.uuid(), reason }),
})
