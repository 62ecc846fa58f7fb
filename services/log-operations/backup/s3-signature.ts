import { createHmac } from 'node:crypto'
import { sha256Of } from './segment.ts'

export interface S3Credentials {
  readonly keyId: string
  readonly secret: string
  /** Session token of temporary credentials. */
  readonly token?: string
}

export interface S3Request {
  readonly method: string
  readonly url: URL
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** SHA-256 of the body, in hex. */
  readonly payloadSha256: string
}

/**
 * The headers of a request with its signature (AWS Signature Version 4, for the service `s3`). All given headers are
 * signed, and the body by its hash. @param at Unix milliseconds
 */
export function signedHeaders(
  { method, url, headers, payloadSha256 }: S3Request,
  { keyId, secret, token }: S3Credentials,
  { region, at }: { readonly region: string; readonly at: number },
): Record<string, string> {
  const time = new Date(at).toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const scope = `${day}/${region}/s3/aws4_request`
  const signed: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': payloadSha256,
    'x-amz-date': time,
    ...(token !== undefined && { 'x-amz-security-token': token }),
  }
  const names = Object.keys(signed).toSorted()
  const canonical = [
    method,
    url.pathname
      .split('/')
      .map((part) => encodedText(decodeURIComponent(part)))
      .join('/'),
    canonicalQuery(url),
    ...names.map((name) => `${name}:${signed[name]?.trim().replaceAll(/ +/g, ' ')}`),
    '',
    names.join(';'),
    payloadSha256,
  ].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256Of(canonical)].join('\n')
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`)
  const signature = hmac(key, toSign).toString('hex')
  return {
    ...signed,
    authorization: `AWS4-HMAC-SHA256 Credential=${keyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const canonicalQuery = (url: URL): string =>
  [...url.searchParams]
    .map(([name, value]) => `${encodedText(name)}=${encodedText(value)}`)
    .toSorted()
    .join('&')

/** As S3 signs it: everything but letters, digits and `-._~`. */
const encodedText = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
