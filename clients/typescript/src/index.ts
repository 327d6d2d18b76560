export { Client, type ClientOptions, type RequestOptions } from "./client.js";
export { Claim, ClaimEnded } from "./claim.js";
export { Worker, type WorkerOptions } from "./worker.js";
export * as errors from "./errors.js";
export { BeadsError } from "./errors.js";
export type * as types from "./types.js";
