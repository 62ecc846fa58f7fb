import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { S3Credentials } from './s3-signature.ts'

/** Variables that tools of S3 read by custom. */
export interface S3Environment {
  readonly AWS_ACCESS_KEY_ID?: string | undefined
  readonly AWS_SECRET_ACCESS_KEY?: string | undefined
  readonly AWS_SESSION_TOKEN?: string | undefined
  readonly AWS_SHARED_CREDENTIALS_FILE?: string | undefined
  readonly AWS_PROFILE?: string | undefined
}

/**
 * Reads the variables, else a file with profiles: the one named, `AWS_SHARED_CREDENTIALS_FILE`, or `~/.aws/credentials`.
 * @throws ServiceError `config_invalid`; it never says what they are
 */
export function readS3Credentials(environment: S3Environment, named?: string): S3Credentials {
  const { AWS_ACCESS_KEY_ID: keyId, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = environment
  if (named === undefined && given(keyId) && given(secret))
    return { keyId, secret, ...(given(token) && { token }) }
  const file = named ?? environment.AWS_SHARED_CREDENTIALS_FILE ?? join(homedir(), '.aws', 'credentials')
  const profile = environment.AWS_PROFILE ?? 'default'
  const lines = profileLines(file, profile)
  const found = Object.fromEntries(lines.map((line) => line.split(/\s*=\s*(.*)/s, 2)))
  const { aws_access_key_id: id, aws_secret_access_key: key, aws_session_token: lent } = found
  if (given(id) && given(key)) return { keyId: id, secret: key, ...(given(lent) && { token: lent }) }
  throw missing(`profile [${profile}] of ${file} lacks aws_access_key_id or aws_secret_access_key`)
}

const given = (text: string | undefined): text is string => text !== undefined && text !== ''

function profileLines(file: string, profile: string): string[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw missing(`${file} cannot be read: ${reasonOf(error)}`, error)
  }
  const lines = text.split('\n').map((line) => line.trim())
  const from = lines.indexOf(`[${profile}]`)
  if (from === -1) throw missing(`${file} has no profile [${profile}]`)
  const rest = lines.slice(from + 1)
  const to = rest.findIndex((line) => line.startsWith('['))
  return (to === -1 ? rest : rest.slice(0, to)).filter((line) => line !== '' && !line.startsWith('#'))
}

const missing = (why: string, cause?: unknown): ServiceError =>
  new ServiceError('config_invalid', {
    message: `there are no credentials for S3: ${why}`,
    nextStep:
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a file with them: --s3-credentials FILE.',
    cause,
  })
