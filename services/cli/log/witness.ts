import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import {
  cosignersOf,
  createWitness,
  loadLogKeys,
  parseVkey,
  type Verifier,
  witnessServer,
} from '../../proof/index.ts'
import { defineCommand } from '../kit/command.ts'

export const witnessCommand = defineCommand({
  name: 'witness',
  summary: 'Cosigns the transparency logs of others: it states that none of them has shown it two histories.',
  notes: [
    'It speaks C2SP tlog-witness: POST /add-checkpoint. At its start it writes its verifier keys, one of Ed25519 and one of ML-DSA-44. The operator of a log puts either of them into the policy file (LOG_POLICY).',
    'Its folder holds its keys and, for each log, the newest checkpoint that it has cosigned. One witness uses a folder at a time; put no older copy of it back, or it vouches for a history that it has not seen.',
  ],
  operands: ['folder'],
  flags: {
    name: {
      schema: z.string().regex(/^[^\s+]{1,200}$/, 'must be a name without blanks and plus signs'),
      help: 'Name of its keys: an address of yours without a scheme.',
      example: 'witness.example.com/one',
    },
    logs: {
      schema: z.string().min(1),
      help: 'File with the verifier keys of the logs that it cosigns, one a line.',
      example: './logs.vkeys',
    },
    host: {
      schema: z.string().min(1).default('127.0.0.1'),
      help: 'Address to listen on. Default: 127.0.0.1, this machine only.',
      example: '0.0.0.0',
    },
    port: {
      schema: z.coerce.number().int().min(0).max(65_535).default(8_403),
      help: 'Port to listen on; 0 for any that is free. Default: 8403.',
      example: '8403',
    },
  },
  examples: ['signal witness ./witness --name witness.example.com/one --logs ./logs.vkeys'],
  async run({ operands: [folder = ''], flags: { name, logs, host, port }, stdout, stderr, signal, now }) {
    const keys = loadLogKeys({ given: undefined, file: join(folder, 'witness.keys'), random: randomBytes })
    const signers = cosignersOf(keys, name)
    const witness = createWitness({ signers, logs: readLogs(logs), directory: join(folder, 'logs'), now })
    const server = witnessServer(witness, (error) => void stderr.write(`${reasonOf(error)}\n`))
    try {
      await once(server.listen(port, host), 'listening')
    } catch (error) {
      throw new ServiceError('config_invalid', {
        message: `--host ${host} and --port ${port} cannot be listened on: ${reasonOf(error)}`,
        cause: error,
      })
    }
    stdout.write(signers.map(({ vkey }) => `${vkey}\n`).join(''))
    stderr.write(`Listening on http://${host}:${(server.address() as AddressInfo).port}\n`)
    if (!signal.aborted) await once(signal, 'abort')
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  },
})

/** @throws ServiceError `config_invalid` */
function readLogs(file: string): Verifier[] {
  try {
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim())
    const keys = lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const key = parseVkey(line)
        if (key === undefined) throw new TypeError(`${JSON.stringify(line.slice(0, 100))} is no verifier key`)
        return key
      })
    if (keys.length === 0) throw new TypeError('it holds no verifier keys')
    return keys
  } catch (error) {
    throw new ServiceError('config_invalid', {
      message: `--logs ${file} cannot be used: ${reasonOf(error)}`,
      cause: error,
    })
  }
}
