import { resolve } from 'node:path'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { openFolderStorage } from './folder-storage.ts'
import { openS3Storage, type S3Credentials } from './s3-storage.ts'
import type { BackupStorage } from './storage.ts'

const S3_ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/

/**
 * A folder, or a bucket: `s3://bucket/prefix`.
 *
 * @param options.environment the variables that tools of S3 read by custom (`AWS_ACCESS_KEY_ID`, …)
 * @throws ServiceError `config_invalid`
 */
export function openStorage(
  address: string,
  options: {
    readonly environment: NodeJS.ProcessEnv
    readonly now: () => number
    readonly sleep: (milliseconds: number) => Promise<void>
  },
): BackupStorage {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return openFolderStorage(resolve(address))
  const [, bucket, prefix = ''] = S3_ADDRESS.exec(address) ?? []
  if (bucket === undefined)
    throw invalid(`${JSON.stringify(address.slice(0, 200))} is neither a folder nor s3://bucket/prefix`)
  const { AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = options.environment
  const region = AWS_REGION ?? AWS_DEFAULT_REGION ?? 'us-east-1'
  const endpoint = URL.parse(AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL ?? `https://s3.${region}.amazonaws.com`)
  if (endpoint === null || !/^https?:$/.test(endpoint.protocol) || endpoint.username !== '')
    throw invalid('AWS_ENDPOINT_URL_S3 is no http or https address without a user')
  const credentials = credentialsOf(options.environment)
  return openS3Storage({
    ...options,
    bucket,
    prefix: prefix.replaceAll(/^\/+|\/+$/g, ''),
    region,
    endpoint,
    credentials,
  })
}

function credentialsOf({
  AWS_ACCESS_KEY_ID: accessKeyId = '',
  AWS_SECRET_ACCESS_KEY: secretAccessKey = '',
  AWS_SESSION_TOKEN: sessionToken = '',
}: NodeJS.ProcessEnv): S3Credentials {
  if (accessKeyId !== '' && secretAccessKey !== '')
    return { accessKeyId, secretAccessKey, ...(sessionToken !== '' && { sessionToken }) }
  throw invalid(
    'there are no credentials for S3: AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set',
    'Set both, and AWS_SESSION_TOKEN if they are temporary.',
  )
}

const invalid = (message: string, nextStep?: string): ServiceError =>
  new ServiceError('config_invalid', { message, ...(nextStep !== undefined && { nextStep }) })
