import { z } from 'zod'
import { instant } from '../infra/field-schemas.ts'

/** Rights that a program may get; `scope` in OAuth. */
export const SCOPES = ['calls', 'webhooks'] as const
export const scopeSchema = z.enum(SCOPES)
export type Scope = z.infer<typeof scopeSchema>

/** The meaning of each scope, for the page that asks for consent. */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  calls: 'ask for trade calls, regimes and scans; calls count for your account',
  webhooks: 'create, change and remove your webhooks, and read their deliveries',
}

/** Why a request of OAuth is refused: the codes of RFC 6749, 7591 and 8707. */
export const OAUTH_CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_client_metadata',
  'invalid_redirect_uri',
  'invalid_grant',
  'invalid_scope',
  'invalid_target',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  'access_denied',
  'temporarily_unavailable',
  'server_error',
] as const
export type OAuthCode = (typeof OAUTH_CODES)[number]

/** A refusal in OAuth's own words: programs read the code, people the description. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly code: OAuthCode
  constructor(code: OAuthCode, description: string, options?: ErrorOptions) {
    super(description, options)
    this.code = code
  }
}

/** A program that may act for an account, as lists show it. */
export const appRowSchema = z.object({
  id: z.uuid(),
  name: z.string(),
  client_id: z.string(),
  redirect_host: z.string().describe('Where its sign-ins lead'),
  scopes: z.array(scopeSchema),
  created_at: instant,
  expires_at: instant.describe('Until when it may be silent'),
})
export type AppRow = z.infer<typeof appRowSchema>

export const appsAnswerSchema = z.object({ apps: z.array(appRowSchema) })
export type AppsAnswer = z.infer<typeof appsAnswerSchema>
