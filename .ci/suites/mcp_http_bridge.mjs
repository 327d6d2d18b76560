// Serves an MCP server on standard input and output over HTTP, for test suites that speak only HTTP.
// Usage: node mcp_http_bridge.mjs PROGRAM [ARGUMENT…]; prints its port. Starts one server process per session, and one for all
// stateless requests. It forwards messages unchanged, except for their ids.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [program, ...args] = process.argv.slice(2);
const sessions = new Map();

function start() {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    const token = message.params?.progressToken;
    const about = message.params?._meta?.['io.modelcontextprotocol/subscriptionId'];
    const key = message.method === undefined ? message.id : (about ?? token);
    waiting.get(JSON.stringify(key))?.(message);
  });
  return { child, waiting };
}

const stateless = start();

function answer(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

// Returns the HTTP status that revision 2026-07-28 requires for protocol errors.
function status(message, modern) {
  if (!modern || !message.error) return 200;
  return message.error.code === -32601 ? 404 : 400;
}

function forward(request, response, message) {
  const meta = message.params?._meta ?? {};
  const modern = 'io.modelcontextprotocol/protocolVersion' in meta || request.headers['mcp-protocol-version'] === '2026-07-28';
  let id = request.headers['mcp-session-id'];
  if (message.method === 'initialize') {
    id = randomUUID();
    sessions.set(id, start());
  }
  const session = modern && message.method !== 'initialize' ? stateless : sessions.get(id);
  if (!session) return answer(response, id ? 404 : 400, { jsonrpc: '2.0', id: message.id ?? null, error: { code: -32000, message: 'no such session' } });
  if (message.id === undefined || message.method === undefined) {
    session.child.stdin.write(JSON.stringify(message) + '\n');
    return answer(response, 202);
  }
  // Different connections may use the same id, so replace it by a unique one.
  const own = `${randomUUID()}`;
  const streams = message.method === 'subscriptions/listen';
  const events = [];
  const back = (reply) => JSON.parse(JSON.stringify(reply).replaceAll(JSON.stringify(own), JSON.stringify(message.id)));
  const event = (reply) => `event: message\ndata: ${JSON.stringify(back(reply))}\n\n`;
  if (streams) response.writeHead(200, { 'content-type': 'text/event-stream' });
  session.waiting.set(JSON.stringify(own), (reply) => {
    if (streams) {
      response.write(event(reply));
      if (reply.method === undefined) response.end();
      return;
    }
    if (reply.method !== undefined) return events.push(event(reply));
    session.waiting.delete(JSON.stringify(own));
    const headers = message.method === 'initialize' ? { 'mcp-session-id': id } : {};
    if (events.length === 0) return answer(response, status(reply, modern), back(reply), headers);
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
    response.end(events.join('') + event(reply));
  });
  const token = meta.progressToken;
  if (token !== undefined) session.waiting.set(JSON.stringify(token), session.waiting.get(JSON.stringify(own)));
  response.on('close', () => {
    session.waiting.delete(JSON.stringify(own));
    if (streams) session.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: own } }) + '\n');
  });
  session.child.stdin.write(JSON.stringify({ ...message, id: own }) + '\n');
}

const server = createServer((request, response) => {
  if (request.method === 'DELETE') {
    const session = sessions.get(request.headers['mcp-session-id']);
    session?.child.stdin.end();
    sessions.delete(request.headers['mcp-session-id']);
    return answer(response, session ? 200 : 404);
  }
  if (request.method !== 'POST') return answer(response, 405);
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    try {
      forward(request, response, JSON.parse(body));
    } catch (error) {
      answer(response, 400, { jsonrpc: '2.0', id: null, error: { code: -32700, message: String(error) } });
    }
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
