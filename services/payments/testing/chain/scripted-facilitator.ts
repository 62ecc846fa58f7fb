import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../../../../contracts/infra/json.ts'

/** The answer of a test's facilitator to /settle. */
export type FacilitatorAct =
  | { readonly status?: number; readonly json: unknown }
  | { readonly text: string }
  | 'hang'
  | 'cut'

export interface ScriptedFacilitator {
  readonly url: string
  /** Bodies that came to /settle, and the credential that each came with. */
  readonly settled: { readonly body: JsonObject; readonly authorization: string | undefined }[]
  /** The transfers that a gateway's search finds; a test adds them. */
  readonly transfers: JsonObject[]
  close(): Promise<void>
}

/** @param act what to do with each request, counted from 0 */
export async function startScriptedFacilitator(
  act: (body: JsonObject, count: number) => Promise<FacilitatorAct> | FacilitatorAct,
): Promise<ScriptedFacilitator> {
  const settled: ScriptedFacilitator['settled'] = []
  const transfers: JsonObject[] = []
  const send = (response: ServerResponse, status: number, text: string): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  }
  async function handle(
    url: string,
    text: string,
    authorization: string | undefined,
    response: ServerResponse,
  ) {
    if (url.endsWith('/supported')) return send(response, 200, JSON.stringify({ kinds: [] }))
    if (url.endsWith('/verify')) return send(response, 200, JSON.stringify({ isValid: true }))
    if (url.includes('/transfers?')) return send(response, 200, JSON.stringify({ transfers }))
    const body = JSON.parse(text) as JsonObject
    settled.push({ body, authorization })
    const what = await act(body, settled.length - 1)
    if (what === 'hang') return undefined
    if (what === 'cut') return void response.destroy()
    if ('text' in what) return send(response, 200, what.text)
    return send(response, what.status ?? 200, JSON.stringify(what.json))
  }
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => void parts.push(part))
    request.on('end', () => {
      const { authorization } = request.headers
      handle(request.url ?? '', Buffer.concat(parts).toString(), authorization, response).catch(() =>
        response.destroy(),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x402`,
    settled,
    transfers,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
