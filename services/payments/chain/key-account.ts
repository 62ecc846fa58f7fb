import type { Hex } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { ServiceError } from '../../../contracts/errors.ts'

/** The account of a private key. @param setting names it in the refusal. @throws ServiceError `config_invalid` */
export function keyAccount(privateKey: string, setting: string): PrivateKeyAccount {
  try {
    return privateKeyToAccount(privateKey as Hex)
  } catch {
    // What it throws may repeat the key.
    throw new ServiceError('config_invalid', {
      message: `${setting} is not a private key: it must be 0x and 64 hexadecimal digits, not zero and below the order of the curve`,
    })
  }
}
