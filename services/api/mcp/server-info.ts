/** What the MCP server calls itself, in its protocol and wherever it is announced. */
export const SERVER_NAME = 'signal-service'
export const SERVER_TITLE = 'Signal service'
