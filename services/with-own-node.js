// Runs a script on the Node.js that the project needs: node services/with-own-node.js <script> [arguments]
import { runOnOwnNode } from './own-node.js'

runOnOwnNode(process.argv.slice(2))
