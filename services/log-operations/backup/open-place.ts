import { resolve } from 'node:path'
import { ServiceError } from '../../../contracts/errors.ts'
import { openFolderPlace } from './folder-place.ts'
import type { BackupPlace } from './place.ts'
import { readS3Credentials, type S3Environment } from './s3-credentials.ts'
import { openS3Place } from './s3-place.ts'

export interface PlaceEnvironment extends S3Environment {
  readonly AWS_REGION?: string | undefined
  readonly AWS_DEFAULT_REGION?: string | undefined
  readonly AWS_ENDPOINT_URL_S3?: string | undefined
  readonly AWS_ENDPOINT_URL?: string | undefined
}

const S3_ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/

/** A folder, or a bucket: `s3://bucket/prefix`. @throws ServiceError `config_invalid` */
export function openPlace(
  address: string,
  options: {
    readonly environment: PlaceEnvironment
    readonly credentialsFile?: string | undefined
    readonly holder: string
    /** Whether the operator vouches that nothing else backs up there; for buckets. */
    readonly isAlone?: boolean
    readonly now: () => number
    readonly sleep: (milliseconds: number) => Promise<void>
  },
): BackupPlace {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return openFolderPlace(resolve(address))
  const [, bucket, prefix = ''] = S3_ADDRESS.exec(address) ?? []
  if (bucket === undefined) {
    throw new ServiceError('config_invalid', {
      message: `${JSON.stringify(address.slice(0, 200))} is neither a folder nor s3://bucket/prefix`,
    })
  }
  const { environment } = options
  const region = environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION ?? 'us-east-1'
  return openS3Place({
    ...options,
    isAlone: options.isAlone ?? false,
    bucket,
    prefix: prefix.replaceAll(/^\/+|\/+$/g, ''),
    region,
    endpoint: endpointOf(environment, region),
    credentials: readS3Credentials(environment, options.credentialsFile),
  })
}

function endpointOf(environment: PlaceEnvironment, region: string): URL {
  const given = environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL
  const url = URL.parse(given ?? `https://s3.${region}.amazonaws.com`)
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '') return url
  throw new ServiceError('config_invalid', {
    message: 'AWS_ENDPOINT_URL_S3 is no http or https address without a user',
  })
}
