// usage: node ask_in_node.mjs SCRIPTS_FOLDER FILES_FOLDER COUNT; prints the differences from Python, by engine.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { differences } from "../book/browser/ask_equality.mjs";

const [folder, filesFolder, count] = process.argv.slice(2);
// As text, since node takes a file that is called .js for another kind of script.
const script = async (name) => import(`data:text/javascript,${encodeURIComponent(await readFile(join(folder, name), "utf8"))}`);
const scripts = Object.assign({}, ...(await Promise.all(["bert.js", "wordpiece.js", "product.js", "scores.js", "neighbours.js", "patterns.js"].map(script))));
const files = async (name) => { const bytes = await readFile(join(filesFolder, name)); return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length); };
const found = [];
for (const plain of [false, true]) found.push(await differences(scripts, files, { plain, count: Number(count) }));
console.log(JSON.stringify(found));
