/** Parts of `node:http`. An import of it reads each export, and with `WebSocket` loads 10 MB: the client of Node.js for the web. */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
