#!/usr/bin/env node
// Makes an MCP bundle (.mcpb) of a service, which clients such as Claude Desktop install by a double click, and the
// server.json that lists it in the MCP registry:
//   node clients/mcp/bundle.js https://signals.example.com https://downloads.example.com/mcp/signal-service.mcpb [folder]
// The first address is that of the service; the second is where you are going to put the bundle.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'

const [service, at, folder = '.'] = process.argv.slice(2)
if (at === undefined || !URL.canParse(service) || !URL.canParse(at)) {
  process.stderr.write('usage: bundle.js ADDRESS_OF_THE_SERVICE ADDRESS_OF_THE_BUNDLE [FOLDER]\n')
  process.exit(2)
}
const listing = await (await fetch(new URL('/server.json', service), { redirect: 'error' })).json()
const { _meta: meta } = listing
const { tools = [] } = meta?.['io.modelcontextprotocol.registry/publisher-provided'] ?? {}

const manifest = {
  manifest_version: '0.3',
  name: 'signal-service',
  display_name: listing.title,
  version: listing.version,
  description: listing.description,
  author: { name: new URL(service).hostname, url: service },
  documentation: listing.websiteUrl,
  privacy_policies: [new URL('/docs/privacy', service).href],
  server: {
    type: 'node',
    entry_point: 'server/index.js',
    mcp_config: {
      command: 'node',
      args: [`\${__dirname}/server/index.js`],
      env: { SIGNAL_URL: `\${user_config.url}`, SIGNAL_API_KEY: `\${user_config.api_key}` },
    },
  },
  tools: tools.map((name) => ({ name })),
  compatibility: { runtimes: { node: '>=20' } },
  user_config: {
    url: { type: 'string', title: 'Address of the service', required: true, default: service },
    api_key: {
      type: 'string',
      title: 'API key',
      description: 'Left out, the free allowance of your network address applies',
      sensitive: true,
      required: false,
      default: '',
    },
  },
}

/** A zip archive. Its entries bear no time, so the same files make the same bytes. */
function zip(files) {
  const MIDNIGHT_1980 = 0x21
  const [bodies, directory] = [[], []]
  let offset = 0
  for (const [path, data] of files) {
    const [name, packed] = [Buffer.from(path), deflateRawSync(data)]
    const head = Buffer.alloc(26)
    const fields = [20, 0, 8, 0, MIDNIGHT_1980]
    fields.forEach((value, place) => head.writeUInt16LE(value, 2 * place))
    head.writeUInt32LE(crc32(data), 10)
    head.writeUInt32LE(packed.length, 14)
    head.writeUInt32LE(data.length, 18)
    head.writeUInt16LE(name.length, 22)
    const end = Buffer.alloc(14)
    end.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), head, end, name)
    bodies.push(Buffer.from('PK\x03\x04', 'latin1'), head, name, packed)
    offset += 4 + head.length + name.length + packed.length
  }
  const index = Buffer.concat(directory)
  const tail = Buffer.alloc(22)
  tail.write('PK\x05\x06', 'latin1')
  tail.writeUInt16LE(files.length, 8)
  tail.writeUInt16LE(files.length, 10)
  tail.writeUInt32LE(index.length, 12)
  tail.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, index, tail])
}

const bundle = zip([
  ['manifest.json', Buffer.from(JSON.stringify(manifest, null, 2))],
  ['server/index.js', readFileSync(join(import.meta.dirname, 'index.js'))],
  // Without it Node.js takes the program for CommonJS.
  ['server/package.json', Buffer.from('{"type":"module"}')],
])
const fileSha256 = createHash('sha256').update(bundle).digest('hex')
const packages = [
  {
    registryType: 'mcpb',
    identifier: at,
    version: listing.version,
    fileSha256,
    transport: { type: 'stdio' },
  },
]
writeFileSync(join(folder, 'signal-service.mcpb'), bundle)
writeFileSync(join(folder, 'server.json'), `${JSON.stringify({ ...listing, packages }, null, 2)}\n`)
process.stdout.write(`signal-service.mcpb, ${bundle.length} bytes, SHA-256 ${fileSha256}\nserver.json\n`)
