// What the checks share: the built book on localhost, and a browser without a window, of either engine.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

// The packages lie in a git-ignored folder named by the caller, not necessarily beside this script.
export const require = createRequire(join(process.env.BROWSER_MODULES ?? import.meta.dirname, "package.json"));
const puppeteer = require("puppeteer-core");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png" };
const INSIDE = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:"; // what asks outside fails
const REPORTS = "/refused"; // where browsers tell of it, of workers too, which not every driver sees
const STILL = "?scripts=off"; // by the server, since not every engine lets a driver switch scripts off
const OPTIONS = {
  chrome: { args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-prefers-reduced-motion"] },
  firefox: { extraPrefsFirefox: { "ui.prefersReducedMotion": 1 } },
};

// `folders` by the first part of an address, "" for every other; `sent(path, body)` may change what is sent. `paths` are those
// that were asked for, `refused` what browsers report of requests to outside.
export async function serve(folders, sent = (path, body) => body) {
  const paths = [], refused = [];
  const server = createServer(async (request, response) => {
    const { pathname, search } = new URL(request.url, "http://localhost"), path = normalize(decodeURIComponent(pathname));
    if (path === REPORTS) {
      refused.push(Buffer.concat(await request.toArray()).toString());
      return response.writeHead(204).end();
    }
    const [, top, ...rest] = path.split("/"), file = folders[top] ? join(folders[top], ...rest) : join(folders[""], path);
    paths.push(path);
    try {
      const body = sent(path, await readFile(file.endsWith("/") ? `${file}index.html` : file));
      const policy = search === STILL ? `${INSIDE}; script-src 'none'` : `${INSIDE}; report-uri ${REPORTS}`;
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream", "content-security-policy": policy }).end(body);
    } catch { response.writeHead(404).end(); }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { origin: `http://127.0.0.1:${server.address().port}`, paths, refused, close: () => server.close() };
}

export const launch = (browser, executablePath) => puppeteer.launch({ browser, executablePath, protocolTimeout: 600_000, ...OPTIONS[browser] });

// A page of its own, without cookies of others; `told(kind, text)` hears of what goes wrong in it, without it nobody does.
export async function open(browser, address, { told, still = false, size = { width: 1280, height: 900 } } = {}) {
  const context = await browser.createBrowserContext(), page = await context.newPage();
  if (told) watch(page, new URL(address).origin, told);
  await page.setViewport(size);
  await page.goto(still ? address + STILL : address);
  return { page, close: () => context.close() };
}

function watch(page, origin, told) {
  const inside = origin === "null" ? "file://" : origin;
  page.on("request", (r) => { if (!r.url().startsWith(inside) && !/^(data|blob):/.test(r.url())) told("outside", r.url()); });
  page.on("console", (m) => { if (m.type() === "error") told("console", m.text()); });
  page.on("pageerror", (e) => told("console", e.message));
  page.on("response", (r) => { if (r.status() >= 400) told("failed", `${r.status()} ${r.url()}`); });
}

export const textOf = (page, selector) => page.$eval(selector, (element) => element.innerText);
export const isVisible = (page, selector) => page.$eval(selector, (element) => element.checkVisibility());
export const press = async (page, selector, key) => (await page.$(selector)).press(key);
