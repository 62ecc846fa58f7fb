/**
 * Parts of `node:http`. An import of it reads each of its exports, `WebSocket` among them, and so loads the client of
 * Node.js for the web: 10 MB.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
