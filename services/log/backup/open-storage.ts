import { resolve } from 'node:path'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { openFolderStorage } from './folder-storage.ts'
import { openS3Storage, type S3Options } from './s3-storage.ts'
import type { BackupStorage } from './storage.ts'

const S3_ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/

/** A folder, or a bucket: `s3://bucket/prefix`. @throws ServiceError `config_invalid` */
export function openStorage(address: string, options: Omit<S3Options, 'bucket' | 'prefix'>): BackupStorage {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return openFolderStorage(resolve(address))
  const [, bucket, prefix = ''] = S3_ADDRESS.exec(address) ?? []
  if (bucket === undefined)
    throw new ServiceError('config_invalid', {
      message: `${JSON.stringify(address.slice(0, 200))} is neither a folder nor s3://bucket/prefix`,
    })
  return openS3Storage({ ...options, bucket, prefix: prefix.replaceAll(/^\/+|\/+$/g, '') })
}
