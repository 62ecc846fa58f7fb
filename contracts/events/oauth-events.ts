import { z } from 'zod'
import { scopeSchema } from '../domain/oauth.ts'
import { accountId, sha256 as hash, reason, sealed, timeMs } from '../infra/field-schemas.ts'
import { defineEvent } from './event-definition.ts'

const scopes = z.array(scopeSchema).min(1).max(8)
const stream = 'account-{account}'

export const AppAuthorized = defineEvent('AppAuthorized', stream, {
  summary: 'The owner authorized an OAuth client; of the code and the client only hashes are stored.',
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

export const AppTokenIssued = defineEvent('AppTokenIssued', stream, {
  summary: 'An OAuth client received an access token and a refresh token, of which the hash is stored.',
  data: z.object({ accountId, grantId: z.uuid(), refreshHash: hash, expiresAt: timeMs }),
})

export const AppEnded = defineEvent('AppEnded', stream, {
  summary: 'An OAuth client lost its access: by the owner, by revocation, or because a token was reused.',
  data: z.object({ accountId, grantId: z.uuid(), reason }),
})
