import{c as a,d as b}from"./chunk-WOXFOSC7.js";import"./chunk-GZ7MPWVD.js";import"./chunk-RLH3V6A7.js";export{b as Entries,a as HistoryPage};
